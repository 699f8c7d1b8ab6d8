"""Searches for the best end of a move."""
