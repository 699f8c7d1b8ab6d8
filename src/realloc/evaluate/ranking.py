"""How well predictions rank matched responses. G predicted gain, S = G/‖Δp‖₁ score, R matched response of an event.

Intervals are percentiles of a bootstrap over units: a draw gives every unit a whole weight, and each metric is worked out
with weights, so that nothing is sorted again. With one seed, all metrics and all policies see the same draws.

An interval of ρ is about these responses: the evaluation model and the matching stay as they are. They set how noisy R is,
hence how large ρ can get, and differ from log to log. Measured on 80 logs of 600 units with a ranker that knows the truth
(ρ = .76, the logs of tests/evaluate/moved.py): intervals hold the ρ of their own log's noise 99 times in 100, but the mean
ρ over logs only 85 times. So compare policies on one window; do not compare ρ of two windows by their intervals. Where gains
follow the context, what matching leaves of an imbalance moves ρ as well (by .03 there), and no resampling can see that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from realloc.base.errors import ConfigError, LogError
from realloc.base.validation import check_types
from realloc.evaluate.events import Floats, Mask
from realloc.evaluate.matching import Units
from realloc.evaluate.result import CONFIDENCE, Estimate, EstimateTable

Metric = Callable[[Floats], Floats]  # weights of events (b, n), or of units (b, U), to values (b,)

SMALL = 1e-8  # the paper's ε beside ‖Δp‖₁
CELLS = 1 << 20  # numbers held at once per array


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """How often units are drawn again, and from which seed."""

    draws: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        check_types(self, "the bootstrap")
        if self.draws < 20:
            raise ConfigError(
                f"Expected at least 20 bootstrap draws for an interval, got {self.draws}."
            )

    def weights(self, units: int, width: int) -> Iterator[Floats]:
        """How often each unit is drawn, (b, units), a few draws at a time: as many as arrays of `width` allow."""
        rng = np.random.default_rng([self.seed, 11])
        most = max(1, CELLS // max(width, units))
        for first in range(0, self.draws, most):
            size = min(most, self.draws - first)
            picked = rng.integers(0, units, (size, units)) + units * np.arange(size)[:, None]
            yield (
                np.bincount(picked.ravel(), minlength=size * units)
                .reshape(size, units)
                .astype(np.float64)
            )


DEFAULT = Bootstrap()


def score(gain: Floats, moved_by: Floats) -> Floats:
    """S = G / (‖Δp‖₁ + ε): the gain per moved share."""
    return gain / (moved_by + SMALL)


def rank_correlation(
    name: str, predicted: Floats, response: Floats, units: Units, bootstrap: Bootstrap = DEFAULT
) -> Estimate:
    """Spearman's ρ with mid-ranks for ties; NaN where one side is constant."""
    _check(predicted, response, units)
    if not len(predicted) or np.ptp(predicted) == 0 or np.ptp(response) == 0:
        return _nothing(name, len(predicted))
    order = np.argsort(predicted, kind="stable")
    one, other = _Ranks(predicted[order]), _Ranks(response[order])

    def spearman(weights: Floats) -> Floats:
        middle = weights.sum(axis=1, keepdims=True) / 2
        a, b = one(weights) - middle, other(weights) - middle
        across = np.sqrt(
            np.einsum("bn,bn,bn->b", weights, a, a) * np.einsum("bn,bn,bn->b", weights, b, b)
        )
        return _divide(np.einsum("bn,bn,bn->b", weights, a, b), across)

    return _by_event(name, spearman, units[order], bootstrap)


def aligned_gap(
    predicted: Floats,
    response: Floats,
    units: Units,
    part: float = 0.2,
    bootstrap: Bootstrap = DEFAULT,
) -> Estimate:
    """Mean R of the top `part` of scores minus that of the bottom; ties at a threshold count on its side."""
    _check(predicted, response, units)
    if not 0 < part <= 0.5:
        raise ConfigError(f"Expected a part above 0 and up to 0.5 of the events, got {part}.")
    if not len(predicted) or np.ptp(predicted) == 0:
        return _nothing("aligned_gap", len(predicted))
    order = np.argsort(predicted, kind="stable")
    starts = _starts(predicted[order])
    response = response[order]

    def gap(weights: Floats) -> Floats:
        count = np.add.reduceat(weights, starts, axis=1)
        total = np.add.reduceat(weights * response, starts, axis=1)
        return _tail_mean(count[:, ::-1], total[:, ::-1], part) - _tail_mean(count, total, part)

    return _by_event("aligned_gap", gap, units[order], bootstrap)


def within_unit_concordance(
    predicted: Floats,
    response: Floats,
    units: Units,
    context: Floats,
    caliper: float = 0.5,
    bootstrap: Bootstrap = DEFAULT,
) -> Estimate:
    """The part of pairs of one unit's events in like contexts whose order S and R agree on; ties count half.

    `context` (n, d) as `standardise` gives it: pairs further apart than the caliper are left out. n counts pairs.
    """
    _check(predicted, response, units)
    present, codes = np.unique(units, return_inverse=True)
    agree, pairs = np.zeros(len(present)), np.zeros(len(present))
    order = np.argsort(codes, kind="stable")
    most = int(np.bincount(codes).max()) if len(codes) else 0
    for back in range(
        1, most
    ):  # pairs of a unit's events that stand so far apart: all units at once
        one, other = order[back:], order[:-back]
        same = codes[one] == codes[other]
        one, other = one[same], other[same]
        near = np.square(context[one] - context[other]).sum(axis=1) <= caliper**2
        one, other = one[near], other[near]
        sign = np.sign(predicted[one] - predicted[other]) * np.sign(response[one] - response[other])
        agree += np.bincount(codes[one], (sign + 1) / 2, len(present))
        pairs += np.bincount(codes[one], minlength=len(present))
    return ratio("within_unit_concordance", agree, pairs, int(pairs.sum()), bootstrap)


def support_violation(
    moved: Mask, supported: Mask, units: Units, bootstrap: Bootstrap = DEFAULT
) -> EstimateTable:
    """The part of executed recommendations outside the support, and the part of rows that are moved at all."""
    if not len(moved) == len(supported) == len(units):
        raise LogError(
            f"Expected `moved`, `supported` and `units` of the same rows, got {len(moved)}, {len(supported)} and {len(units)}."
        )
    codes = np.unique(units, return_inverse=True)[1]
    rows, acted, outside = (
        np.bincount(codes, part) for part in (np.ones(len(moved)), moved, moved & ~supported)
    )
    return EstimateTable(
        (
            ratio("support_violation", outside, acted, int(moved.sum()), bootstrap),
            ratio("update_rate", acted, rows, len(moved), bootstrap),
        )
    )


def mean_response(
    name: str, response: Floats, units: Units, bootstrap: Bootstrap = DEFAULT
) -> Estimate:
    """Mean R over events."""
    codes = np.unique(units, return_inverse=True)[1]
    return ratio(name, np.bincount(codes, response), np.bincount(codes), len(response), bootstrap)


def ratio(
    name: str, top: NDArray[Any], bottom: NDArray[Any], n: int, bootstrap: Bootstrap = DEFAULT
) -> Estimate:
    """Σ top / Σ bottom over units, each given by its own sums (U,); NaN where the bottom is 0."""
    sums = np.stack([top, bottom], axis=1).astype(np.float64)

    def quotient(weights: Floats) -> Floats:
        found = weights @ sums
        return _divide(found[:, 0], found[:, 1])

    useful = sums[:, 1] > 0  # units that say nothing are not drawn
    sums = sums[useful]
    if not len(sums):
        return _nothing(name, n)
    value = float(quotient(np.ones((1, len(sums))))[0])
    drawn = (
        [quotient(weights) for weights in bootstrap.weights(len(sums), len(sums))]
        if len(sums) > 1
        else []
    )
    return Estimate(name, value, *interval(drawn), n)


def interval(drawn: list[Floats]) -> tuple[float, float]:
    """The middle 95 % of bootstrap values; NaN without any, or where more than half of the draws have none."""
    values = np.concatenate(drawn) if drawn else np.empty(0)
    values = values[np.isfinite(values)]
    if not len(values) or 2 * len(values) < sum(len(part) for part in drawn):
        return float("nan"), float("nan")
    # The k-th of B draws has k / (B + 1) below it on average: other rules make intervals of few draws too short.
    low, high = np.quantile(values, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2], method="weibull")
    return float(low), float(high)


def widen(estimate: Estimate, factor: float, largest: float = np.inf) -> Estimate:
    """The same value with an interval stretched around it, but not beyond ±`largest`."""
    ends = (
        estimate.value + factor * (end - estimate.value) for end in (estimate.low, estimate.high)
    )
    low, high = (float(np.clip(end, -largest, largest)) for end in ends)
    return Estimate(estimate.name, estimate.value, low, high, estimate.n)


def centred_ranks(predicted: Floats) -> Floats:
    """Mid-ranks with mean 0: how much each event's response moves ρ."""
    return rankdata(predicted) - (len(predicted) + 1) / 2


def tail_shares(predicted: Floats, part: float = 0.2) -> Floats:
    """1/|E⁺| on the top of scores, −1/|E⁻| on the bottom, else 0: how much each response moves the gap."""
    ordered = np.sort(predicted)
    count = max(1, int(np.ceil(part * len(predicted) * (1 - 1e-12))))
    top, bottom = predicted >= ordered[-count], predicted <= ordered[count - 1]
    return top / top.sum() - bottom / bottom.sum()


class _Ranks:
    """Weighted mid-ranks of fixed values: sorted once, then a running sum per draw."""

    def __init__(self, values: Floats) -> None:
        order = np.argsort(values, kind="stable")
        self.starts = _starts(values[order])
        self.order = None if np.array_equal(order, np.arange(len(order))) else order
        group = np.empty(len(values), dtype=np.intp)
        group[order] = np.repeat(
            np.arange(len(self.starts)), np.diff(np.append(self.starts, len(values)))
        )
        self.group = group

    def __call__(self, weights: Floats) -> Floats:
        sorted_weights = weights if self.order is None else weights[:, self.order]
        if len(self.starts) < weights.shape[1]:
            sorted_weights = np.add.reduceat(sorted_weights, self.starts, axis=1)
        middle = np.cumsum(sorted_weights, axis=1) - sorted_weights / 2
        return (
            middle
            if self.order is None and middle.shape == weights.shape
            else middle[:, self.group]
        )


def _starts(ordered: Floats) -> NDArray[np.intp]:
    """Where a new value starts."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))


def _tail_mean(count: Floats, total: Floats, part: float) -> Floats:
    """Mean over the first groups that hold at least `part` of the weight."""
    reached = np.cumsum(count, axis=1)
    # Rounded down a little: 0.2 · 5 must not ask for a second event because of the sixteenth digit.
    at = np.argmax(reached >= part * reached[:, -1:] * (1 - 1e-12), axis=1)[:, None]
    sums = np.take_along_axis(np.cumsum(total, axis=1), at, axis=1)
    return (sums / np.take_along_axis(reached, at, axis=1))[:, 0]


def _by_event(name: str, metric: Metric, units: Units, bootstrap: Bootstrap) -> Estimate:
    """A metric of weighted events with its interval over units; no interval with one unit."""
    present, codes = np.unique(units, return_inverse=True)
    n = len(units)
    value = float(metric(np.ones((1, n)))[0])
    if len(present) < 2:
        return Estimate(name, value, float("nan"), float("nan"), n)
    drawn = [metric(weights[:, codes]) for weights in bootstrap.weights(len(present), n)]
    return Estimate(name, value, *interval(drawn), n)


def _divide(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)


def _nothing(name: str, n: int) -> Estimate:
    return Estimate(name, float("nan"), float("nan"), float("nan"), n)


def _check(predicted: Floats, response: Floats, units: Units) -> None:
    if not predicted.shape == response.shape == units.shape:
        raise LogError(
            f"Expected one prediction, response and unit per event, got {predicted.shape}, {response.shape} and {units.shape}."
        )
    for what, values in (("predictions", predicted), ("responses", response)):
        if not np.isfinite(values).all():
            bad = int((~np.isfinite(values)).sum())
            raise LogError(
                f"Expected finite {what}, got {bad:,} of {len(values):,} that are NaN or infinite."
            )
