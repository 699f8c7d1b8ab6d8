"""Stage II: the slow student."""
