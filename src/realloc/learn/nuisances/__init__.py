"""Cross-fitted mean outcome m and mean shares e, given the state."""
