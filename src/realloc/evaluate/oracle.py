"""The paper's metrics where the truth is known: functions of true gains, supports,
edge scores and shares.

Δ_i is the true gain of the recommended over the factual shares, S_i whether the recommendation is
supported. A unit that is not moved has nothing to reject: callers pass it as supported. Edge scores
are (n, E) in the order of `simplex.edges`.
"""

import numpy as np

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Mask, Rows, edge_directions
from realloc.evaluate.result import (
    NAN,
    NORMAL_QUANTILE,
    Estimate,
    mean_estimate,
    standard_error,
)

Clusters = Rows | None
SMALL = 1e-8  # the paper's ε in the denominator of a recovery


def raw_uplift(gain: Floats, clusters: Clusters = None) -> Estimate:
    """U_raw = (1/N) Σ Δ_i: as if every recommendation were deployed."""
    return mean_estimate("raw_uplift", gain, clusters)


def deployable_uplift(gain: Floats, supported: Mask, clusters: Clusters = None) -> Estimate:
    """U_dep = (1/N) Σ 1{supported_i} Δ_i: what is unsupported falls back to the factual shares."""
    return mean_estimate("deployable_uplift", np.where(supported, gain, 0.0), clusters)


def oos_rate(supported: Mask, clusters: Clusters = None) -> Estimate:
    """The fraction of rejected recommendations."""
    return mean_estimate("oos_rate", (~supported).astype(np.float64), clusters)


def oos_gain(gain: Floats, supported: Mask, clusters: Clusters = None) -> Estimate:
    """U_raw − U_dep: the gain that the fallback takes away."""
    return mean_estimate("oos_gain", np.where(supported, 0.0, gain), clusters)


def safe_local_recovery(
    gain: Floats, supported: Mask, oracle_gain: Floats, clusters: Clusters = None
) -> Estimate:
    """U_dep(π̂) / (U_dep(π*_local) + ε), with the interval of a ratio of means (delta method)."""
    _same_rows(gain, oracle_gain)
    deployed = np.where(supported, gain, 0.0)
    whole = float(oracle_gain.mean()) + SMALL
    value = float(deployed.mean()) / whole
    error = standard_error((deployed - value * oracle_gain) / whole, clusters)
    return Estimate.around("safe_local_recovery", value, NORMAL_QUANTILE * error, len(gain))


def harm_rate(gain: Floats, moved: Mask, clusters: Clusters = None) -> Estimate:
    """The share of moved units whose true gain is negative; NaN when nothing moved."""
    picked = None if clusters is None else clusters[moved]
    return mean_estimate("harm_rate", (gain[moved] < 0).astype(np.float64), picked)


def mean_movement(start: Floats, shares: Floats, clusters: Clusters = None) -> Estimate:
    """Mean L1 distance between factual and recommended shares."""
    _same_rows(start, shares)
    return mean_estimate("mean_l1_movement", np.abs(shares - start).sum(axis=-1), clusters)


def path_nonconformity(nonconformity: Floats) -> Estimate:
    """90th percentile of the largest −log density on the way, with its order-statistic interval."""
    n = len(nonconformity)
    quantile = 0.9
    half = NORMAL_QUANTILE * np.sqrt(quantile * (1 - quantile) / n)
    # Order statistics, not interpolation: a way over a zero share is infinitely far.
    ranks = np.ceil(n * np.array([quantile, quantile - half, quantile + half])).astype(int)
    value, low, high = np.sort(nonconformity)[np.clip(ranks - 1, 0, n - 1)]
    return Estimate("path_nonconformity_90", float(value), float(low), float(high), n)


def edge_scores(field: Floats) -> Floats:
    """D_{k→l} = ∂μ/∂p_l − ∂μ/∂p_k of a field (n, K): (n, E).

    >>> edge_scores(np.array([[0.0, 2.0]])).tolist()
    [[2.0, -2.0]]
    """
    return field @ edge_directions(field.shape[-1]).T


def pairwise_corr(learned: Floats, oracle: Floats) -> Estimate:
    """Pearson correlation of all edge scores, with Fisher's interval.

    An anchor counts as one draw, as its edges are not independent.
    """
    _same_rows(learned, oracle)
    n = len(learned)
    if learned.std() == 0 or oracle.std() == 0:
        return Estimate.point("pairwise_corr", NAN, n)
    value = float(np.corrcoef(learned.ravel(), oracle.ravel())[0, 1])
    if n <= 3:
        return Estimate.point("pairwise_corr", value, n)
    centre = np.arctanh(np.clip(value, -1 + 1e-15, 1 - 1e-15))
    half = NORMAL_QUANTILE / np.sqrt(n - 3)
    low = float(np.tanh(centre - half))
    high = float(np.tanh(centre + half))
    return Estimate("pairwise_corr", value, low, high, n)


def top_edge_acc(learned: Floats, oracle: Floats, clusters: Clusters = None) -> Estimate:
    """The fraction of anchors whose best transfer is found."""
    _same_rows(learned, oracle)
    hit = learned.argmax(axis=1) == oracle.argmax(axis=1)
    return mean_estimate("top_edge_acc", hit.astype(np.float64), clusters)


def top_edge_regret(learned: Floats, oracle: Floats, clusters: Clusters = None) -> Estimate:
    """True score of the truly best transfer minus that of the chosen one."""
    _same_rows(learned, oracle)
    chosen = np.take_along_axis(oracle, learned.argmax(axis=1)[:, None], axis=1)[:, 0]
    return mean_estimate("top_edge_regret", oracle.max(axis=1) - chosen, clusters)


def edge_ndcg(learned: Floats, oracle: Floats, clusters: Clusters = None) -> Estimate:
    """NDCG of the ranking of all transfers, relevance max(D*, 0).

    Anchors without a gaining transfer are left out.
    """
    _same_rows(learned, oracle)
    relevance = np.maximum(oracle, 0)
    discount = 1 / np.log2(np.arange(oracle.shape[1]) + 2)
    order = np.argsort(-learned, axis=1, kind="stable")
    ranked = np.take_along_axis(relevance, order, axis=1) @ discount
    ideal = -np.sort(-relevance, axis=1) @ discount
    useful = ideal > 0
    picked = None if clusters is None else clusters[useful]
    return mean_estimate("edge_ndcg", ranked[useful] / ideal[useful], picked)


def _same_rows(one: Floats, other: Floats) -> None:
    if one.shape != other.shape:
        raise LogError(
            f"Expected two arrays of one shape, got {one.shape} and {other.shape}."
        )
