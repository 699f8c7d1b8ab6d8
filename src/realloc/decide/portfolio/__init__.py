"""Caps over all units at once."""
