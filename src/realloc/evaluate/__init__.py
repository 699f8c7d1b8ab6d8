"""Evaluation: one function per metric or estimator, each returning a value with its interval."""

from realloc.evaluate.agreement import agreement_lift
from realloc.evaluate.balance import balance_table, select_setting
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.ceiling import effect_sd, noise_ceiling
from realloc.evaluate.events import at_previous, find_events
from realloc.evaluate.matching import MatchSetting, match_events
from realloc.evaluate.oracle import (
    deployable_uplift,
    edge_ndcg,
    edge_scores,
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
from realloc.evaluate.outcome_model import fit_outcome_model, no_model
from realloc.evaluate.propensity import check_propensities, estimate_propensities
from realloc.evaluate.randomized import RandomizedMoves, RandomizedShares, randomized_moves
from realloc.evaluate.ranking import (
    aligned_gap,
    mean_response,
    rank_correlation,
    support_violation,
    within_unit_concordance,
)
from realloc.evaluate.replay import (
    MatchedReplay,
    MatchedReplayConfig,
    MatchWindow,
    match_window,
    matched_replay,
    rank_window,
)
from realloc.evaluate.result import Estimate, EstimateTable, mean_estimate
from realloc.evaluate.value import ValueConfig, policy_value, smoothed_value
from realloc.evaluate.weights import effective_size, target_arms, target_mix, target_shares

__all__ = [
    "Bootstrap",
    "Estimate",
    "EstimateTable",
    "MatchSetting",
    "MatchWindow",
    "MatchedReplay",
    "MatchedReplayConfig",
    "RandomizedMoves",
    "RandomizedShares",
    "ValueConfig",
    "agreement_lift",
    "aligned_gap",
    "at_previous",
    "balance_table",
    "check_propensities",
    "deployable_uplift",
    "edge_ndcg",
    "edge_scores",
    "effect_sd",
    "effective_size",
    "estimate_propensities",
    "find_events",
    "fit_outcome_model",
    "harm_rate",
    "match_events",
    "match_window",
    "matched_replay",
    "mean_estimate",
    "mean_movement",
    "mean_response",
    "no_model",
    "noise_ceiling",
    "oos_gain",
    "oos_rate",
    "pairwise_corr",
    "path_nonconformity",
    "policy_value",
    "randomized_moves",
    "rank_correlation",
    "rank_window",
    "raw_uplift",
    "safe_local_recovery",
    "select_setting",
    "smoothed_value",
    "support_violation",
    "target_arms",
    "target_mix",
    "target_shares",
    "top_edge_acc",
    "top_edge_regret",
    "within_unit_concordance",
]
