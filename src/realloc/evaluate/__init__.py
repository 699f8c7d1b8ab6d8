"""Evaluation: one function per metric or estimator, each returning a value with its interval."""

from realloc.evaluate.oracle import (
    deployable_uplift,
    edge_ndcg,
    edge_scores,
    gain_bias,
    harm_rate,
    mean_movement,
    oos_gain,
    oos_rate,
    pairwise_corr,
    path_nonconformity,
    raw_uplift,
    safe_local_recovery,
    top_edge_acc,
    top_edge_regret,
)
from realloc.evaluate.result import Estimate, EstimateTable, mean_estimate

__all__ = [
    "Estimate",
    "EstimateTable",
    "deployable_uplift",
    "edge_ndcg",
    "edge_scores",
    "gain_bias",
    "harm_rate",
    "mean_estimate",
    "mean_movement",
    "oos_gain",
    "oos_rate",
    "pairwise_corr",
    "path_nonconformity",
    "raw_uplift",
    "safe_local_recovery",
    "top_edge_acc",
    "top_edge_regret",
]
