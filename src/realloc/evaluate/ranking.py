"""How well predictions rank matched responses.

G predicted gain, S = G/‖Δp‖₁ score, R matched response of an event.

Intervals are percentiles of a bootstrap over units: a draw gives every unit a whole weight, and
each metric is worked out with weights, so that nothing is sorted again. With one seed, all metrics
and all policies see the same draws.

An interval of ρ is about these responses: the evaluation model and the matching stay as they are.
They set how noisy R is, hence how large ρ can get, and differ from log to log. Measured on 80 logs
of 600 units with a ranker that knows the truth (ρ = .76, the logs of tests/evaluate/moved.py):
intervals hold the ρ of their own log's noise 99 times in 100, but the mean ρ over logs only 85
times. So compare policies on one window; do not compare ρ of two windows by their intervals. Where
gains follow the context, what matching leaves of an imbalance moves ρ as well (by .03 there), and
no resampling can see that.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Mask
from realloc.evaluate.bootstrap import DEFAULT, Bootstrap, interval
from realloc.evaluate.matching import Units
from realloc.evaluate.result import NAN, Estimate, EstimateTable, divide, group_codes

SMALL = 1e-8  # the paper's ε beside ‖Δp‖₁
TAIL = 0.2  # of the events, on either side of the gap


def score(gain: Floats, moved_by: Floats) -> Floats:
    """S = G / (‖Δp‖₁ + ε): the gain per moved share."""
    return gain / (moved_by + SMALL)


def rank_correlation(
    name: str,
    predicted: Floats,
    response: Floats,
    units: Units,
    bootstrap: Bootstrap = DEFAULT,
) -> Estimate:
    """Spearman's ρ with mid-ranks for ties; NaN where one side is constant."""
    check_pairs(predicted, response, units)
    n = len(predicted)
    if not n or np.ptp(predicted) == 0 or np.ptp(response) == 0:
        return Estimate.point(name, NAN, n)
    order = np.argsort(predicted, kind="stable")
    codes = group_codes(units[order])
    predicted_ranks = _Ranks(predicted[order])
    response_ranks = _Ranks(response[order])

    def spearman(unit_weights: Floats) -> Floats:
        weights = unit_weights[:, codes]
        middle = weights.sum(axis=1, keepdims=True) / 2
        a = predicted_ranks(weights) - middle
        b = response_ranks(weights) - middle
        squares = np.einsum("bn,bn,bn->b", weights, a, a) * np.einsum(
            "bn,bn,bn->b", weights, b, b
        )
        return divide(np.einsum("bn,bn,bn->b", weights, a, b), np.sqrt(squares))

    return _resample(name, spearman, int(codes.max()) + 1, n, bootstrap, width=n)


def aligned_gap(
    predicted: Floats,
    response: Floats,
    units: Units,
    bootstrap: Bootstrap = DEFAULT,
) -> Estimate:
    """Mean R of the top fifth of scores minus that of the bottom;
    ties at a threshold count on its side.
    """
    check_pairs(predicted, response, units)
    n = len(predicted)
    if not n or np.ptp(predicted) == 0:
        return Estimate.point("aligned_gap", NAN, n)
    order = np.argsort(predicted, kind="stable")
    codes = group_codes(units[order])
    starts = _starts(predicted[order])

    def gap(unit_weights: Floats) -> Floats:
        weights = unit_weights[:, codes]
        count = np.add.reduceat(weights, starts, axis=1)
        total = np.add.reduceat(weights * response[order], starts, axis=1)
        return _tail_mean(count[:, ::-1], total[:, ::-1]) - _tail_mean(count, total)

    return _resample("aligned_gap", gap, int(codes.max()) + 1, n, bootstrap, width=n)


def within_unit_concordance(
    predicted: Floats,
    response: Floats,
    units: Units,
    context: Floats,
    caliper: float = 0.5,
    bootstrap: Bootstrap = DEFAULT,
) -> Estimate:
    """The part of pairs of one unit's events in like contexts whose order S and R agree on;
    ties count half.

    `context` (n, d) as `standardise` gives it: pairs further apart than the caliper are left out. n
    counts pairs.
    """
    check_pairs(predicted, response, units)
    present, codes = np.unique(units, return_inverse=True)
    agree = np.zeros(len(present))
    pairs = np.zeros(len(present))
    order = np.argsort(codes, kind="stable")
    # Pairs of a unit's events that stand `back` apart: all units at once.
    for back in range(1, int(np.bincount(codes).max(initial=0))):
        later = order[back:]
        earlier = order[:-back]
        near = np.square(context[later] - context[earlier]).sum(axis=1) <= caliper**2
        kept = near & (codes[later] == codes[earlier])
        later = later[kept]
        earlier = earlier[kept]
        order_predicted = np.sign(predicted[later] - predicted[earlier])
        order_found = np.sign(response[later] - response[earlier])
        agree += np.bincount(
            codes[later], (order_predicted * order_found + 1) / 2, len(present)
        )
        pairs += np.bincount(codes[later], minlength=len(present))
    return ratio("within_unit_concordance", agree, pairs, int(pairs.sum()), bootstrap)


def support_violation(
    moved: Mask, supported: Mask, units: Units, bootstrap: Bootstrap = DEFAULT
) -> EstimateTable:
    """The part of executed recommendations outside the support,
    and the part of rows that are moved.
    """
    if not len(moved) == len(supported) == len(units):
        raise LogError(
            "Expected `moved`, `supported` and `units` of the same rows, got "
            f"{len(moved)}, {len(supported)} and {len(units)}."
        )
    codes = group_codes(units)
    acted = np.bincount(codes, moved)
    outside = np.bincount(codes, moved & ~supported)
    violation = ratio("support_violation", outside, acted, int(moved.sum()), bootstrap)
    rate = ratio("update_rate", acted, np.bincount(codes), len(moved), bootstrap)
    return EstimateTable((violation, rate))


def mean_response(
    name: str, response: Floats, units: Units, bootstrap: Bootstrap = DEFAULT
) -> Estimate:
    """Mean R over events."""
    codes = group_codes(units)
    return ratio(
        name, np.bincount(codes, response), np.bincount(codes), len(response), bootstrap
    )


def ratio(
    name: str,
    top: NDArray[Any],
    bottom: NDArray[Any],
    n: int,
    bootstrap: Bootstrap = DEFAULT,
) -> Estimate:
    """Σ top / Σ bottom over units, each given by its own sums (U,); NaN where the bottom is 0."""
    sums = np.stack([top, bottom], axis=1).astype(np.float64)
    sums = sums[sums[:, 1] > 0]  # units that say nothing are not drawn
    if not len(sums):
        return Estimate.point(name, NAN, n)

    def quotient(weights: Floats) -> Floats:
        total = weights @ sums
        return divide(total[:, 0], total[:, 1])

    return _resample(name, quotient, len(sums), n, bootstrap, width=len(sums))


def widen(estimate: Estimate, factor: float, largest: float = np.inf) -> Estimate:
    """The same value with an interval stretched around it, but not beyond ±`largest`."""
    ends = estimate.value + factor * (
        np.array([estimate.low, estimate.high]) - estimate.value
    )
    low, high = np.clip(ends, -largest, largest).tolist()
    return replace(estimate, low=low, high=high)


def centred_ranks(predicted: Floats) -> Floats:
    """Mid-ranks with mean 0: how much each event's response moves ρ."""
    return rankdata(predicted) - (len(predicted) + 1) / 2


def tail_shares(predicted: Floats) -> Floats:
    """1/|E⁺| on the top of scores, −1/|E⁻| on the bottom, else 0:
    how much each response moves the gap.
    """
    ordered = np.sort(predicted)
    count = max(1, int(np.ceil(TAIL * len(predicted) * (1 - 1e-12))))
    top = predicted >= ordered[-count]
    bottom = predicted <= ordered[count - 1]
    return top / top.sum() - bottom / bottom.sum()


class _Ranks:
    """Weighted mid-ranks of fixed values: sorted once, then a running sum per draw."""

    def __init__(self, values: Floats) -> None:
        order = np.argsort(values, kind="stable")
        self.starts = _starts(values[order])
        sorted_already = np.array_equal(order, np.arange(len(values)))
        has_ties = len(self.starts) < len(values)
        self.order = slice(None) if sorted_already else order
        self.group = slice(None)
        if has_ties or not sorted_already:
            self.group = group_codes(values)

    def __call__(self, weights: Floats) -> Floats:
        totals = np.add.reduceat(weights[:, self.order], self.starts, axis=1)
        return (np.cumsum(totals, axis=1) - totals / 2)[:, self.group]


def _starts(ordered: Floats) -> NDArray[np.intp]:
    """Where a new value starts."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))


def _tail_mean(count: Floats, total: Floats) -> Floats:
    """Mean over the first groups that hold at least `TAIL` of the weight."""
    reached = np.cumsum(count, axis=1)
    # Rounded down a little: 0.2 · 5 must not ask for a second event because of the sixteenth digit.
    at = np.argmax(reached >= TAIL * reached[:, -1:] * (1 - 1e-12), axis=1)[:, None]
    sums = np.take_along_axis(np.cumsum(total, axis=1), at, axis=1)
    return (sums / np.take_along_axis(reached, at, axis=1))[:, 0]


def _resample(
    name: str,
    metric: Callable[[Floats], Floats],
    units: int,
    n: int,
    bootstrap: Bootstrap,
    width: int,
) -> Estimate:
    """A metric of unit weights (b, U) with its bootstrap interval; no interval with one unit."""
    value = float(metric(np.ones((1, units)))[0])
    if units < 2:
        return Estimate.point(name, value, n)
    drawn = [metric(weights) for weights in bootstrap.weights(units, width)]
    return Estimate(name, value, *interval(np.concatenate(drawn)), n)


def check_pairs(predicted: Floats, response: Floats, units: Units) -> None:
    """Refuse predictions and responses that cannot be ranked."""
    if not predicted.shape == response.shape == units.shape:
        raise LogError(
            "Expected one prediction, response and unit per event, got "
            f"{predicted.shape}, {response.shape} and {units.shape}."
        )
    for kind, values in (("predictions", predicted), ("responses", response)):
        bad = int((~np.isfinite(values)).sum())
        if bad:
            raise LogError(
                f"Expected finite {kind}, got {bad:,} of {len(values):,} that are NaN or infinite."
            )
