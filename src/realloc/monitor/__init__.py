"""Is today like what the model has learned from? Drift, support coverage, age, realised gains."""

from realloc.monitor.drift import Drift, add_counts, count_columns, measure

__all__ = ["Drift", "add_counts", "count_columns", "measure"]
