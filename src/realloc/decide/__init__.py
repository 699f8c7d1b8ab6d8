"""Decisions: local search over transfers for any gain and any support rule."""
