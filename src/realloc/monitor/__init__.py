"""Is what happens now like what the model has learned from? Drift of states and shares, support, age, realised gains."""

from realloc.logs.summary import summary
from realloc.monitor.drift import Drift, add_counts, count_columns, measure

__all__ = ["Drift", "add_counts", "count_columns", "measure", "summary"]
