"""Is what happens now like what the model has learned from? Drift of states and shares, support, age, realised gains."""

from realloc.monitor.drift import Drift, add_counts, count_columns, measure
from realloc.monitor.summary import summary

__all__ = ["Drift", "add_counts", "count_columns", "measure", "summary"]
