"""Evaluation: one function per metric or estimator, each returning a value with its interval."""

from realloc.evaluate.result import Estimate, EstimateTable, mean_estimate

__all__ = ["Estimate", "EstimateTable", "mean_estimate"]
