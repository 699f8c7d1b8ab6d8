"""What outlives a process: the store and the decision log."""
