"""Is today like what the model has learned from? Drift, support coverage, age, realised gains."""

from realloc.monitor.drift import Drift, count_columns, measure

__all__ = ["Drift", "count_columns", "measure"]
