"""From files and frames to a validated table."""
