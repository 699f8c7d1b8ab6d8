"""Experiments as evidence: what tests say about averages of gains corrects all gains.

A hidden cause sets gains off by s(x) · c·(p' − p). Its shape is that of `hidden_cause.py`, its size
τ is learned from the tests themselves:

c ~ N(0, τ² σ² Σ⁻¹),   effect_j − ĝ_j = a_j·c + e_j,   e_j ~ N(0, error_j² + own_j²)

a_j is the mean of s(x) (p' − p) over the rows of test j, ĝ_j the model's mean gain of the same
moves, own_j the error of that mean. The posterior of c is in closed form for every τ, and averaged
over τ by how likely the tests are. Tests that agree with the log leave τ, and gains, as they are.

A test that lies `WRONG` standard errors off what the log and all other tests say, while those agree
with each other, is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from realloc.base.simplex import Floats, Mask
from realloc.learn.hidden_cause import HiddenCauses, as_rows
from realloc.learn.memory.labels import Labels
from realloc.learn.student.potential import Potential

SIZES = np.array([0.0, *np.geomspace(0.01, 3.0, 30)])  # τ that are averaged over
USUAL = 0.3  # strengths of hidden causes beyond it are rare
WRONG = 3.0  # standard errors
FEWEST = 3  # tests of which one may be called wrong


@dataclass(frozen=True)
class EffectReading:
    """A test beside what the log says about the same moves, per row."""

    name: str
    move: str
    rows: int
    effect: float
    error: float
    predicted: float
    predicted_error: float
    direction: tuple[float, ...]  # a (K,)
    apart: float = 0.0  # standard errors between the test and the log
    beyond: float = 0.0  # … and between it and the log corrected by all other tests
    left_out: bool = False

    @property
    def off(self) -> float:
        """What the test found beyond the log."""
        return self.effect - self.predicted

    @property
    def variance(self) -> float:
        """Of that."""
        return self.error**2 + self.predicted_error**2


@dataclass(frozen=True)
class GainCorrection:
    """The correction of gains, relative to the level of the outcome, and the tests it came from."""

    slope: tuple[float, ...]  # c (K,), summing to 0
    covariance: tuple[tuple[float, ...], ...]  # of c (K, K)
    size: float  # τ, the mean
    tests: tuple[EffectReading, ...]

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> "GainCorrection":
        """Of what `asdict` gave."""
        rows: list[dict[str, Any]] = table["tests"]
        readings: list[EffectReading] = []
        for one in rows:
            values: dict[str, Any] = {**one, "direction": tuple(one["direction"])}
            readings.append(EffectReading(**values))
        covariance = as_rows(np.array(table["covariance"], dtype=np.float64))
        return cls(tuple(table["slope"]), covariance, float(table["size"]), tuple(readings))

    def correct(self, student: Potential) -> Potential:
        """The student whose gains hold the correction: c is added to what is linear in shares."""
        scaling = student.scaling
        inverse = scaling.inverse.astype(np.float64) * scaling.outcome
        moving = inverse > 0
        own = np.where(moving, np.array(self.slope) / np.where(moving, inverse, 1.0), 0.0)
        weights = dict(student.weights)
        offset = weights["context.offset"].copy()
        offset[..., : len(own)] += own.astype(np.float32)
        return replace(student, weights=weights | {"context.offset": offset})

    def correct_labels(self, labels: Labels) -> Labels:
        """Labels of a later round with the same correction."""
        slope = np.array(self.slope, dtype=np.float32)
        pair = labels.pair + (slope[labels.target] - slope[labels.source])
        return replace(labels, pair=pair, field=labels.field + slope)


def learn_from_tests(
    tests: tuple[EffectReading, ...], hidden: HiddenCauses
) -> GainCorrection:
    """Judge the tests, leave out one that is wrong, and learn the correction from the others."""
    prior = hidden.noise**2 * np.array(hidden.metric)
    judged = _judge(tests, prior)
    worst = max(range(len(judged)), key=lambda j: abs(judged[j].beyond))
    if len(judged) >= FEWEST and abs(judged[worst].beyond) > WRONG:
        others = tuple(one for j, one in enumerate(judged) if j != worst)
        if all(abs(one.beyond) <= WRONG for one in _judge(others, prior)):
            judged = tuple(
                replace(one, left_out=j == worst) for j, one in enumerate(judged)
            )
    used = tuple(one for one in judged if not one.left_out)
    mean, covariance, size = _posterior(used, prior)
    return GainCorrection(tuple(mean.tolist()), as_rows(covariance), size, judged)


def _judge(tests: tuple[EffectReading, ...], prior: Floats) -> tuple[EffectReading, ...]:
    """Each test against the log, and against the log with all other tests."""
    judged: list[EffectReading] = []
    for j, test in enumerate(tests):
        others = (*tests[:j], *tests[j + 1 :])
        mean, covariance, _ = _posterior(others, prior)
        a = np.array(test.direction)
        spread = float(np.sqrt(test.variance + a @ covariance @ a))
        judged.append(
            replace(
                test,
                apart=test.off / test.variance**0.5,
                beyond=(test.off - float(a @ mean)) / spread,
            )
        )
    return tuple(judged)


def _posterior(
    tests: tuple[EffectReading, ...], prior: Floats
) -> tuple[Floats, Floats, float]:
    """Mean (K,) and covariance (K, K) of c, and the mean τ."""
    K = len(prior)
    chances = np.exp(-SIZES / USUAL)
    if not tests:
        # Without any test nothing speaks for a hidden cause, nor against one.
        weights = chances / chances.sum()
        return (
            np.zeros(K),
            float(weights @ np.square(SIZES)) * prior,
            float(weights @ SIZES),
        )
    a = np.array([test.direction for test in tests])  # (J, K)
    off = np.array([test.off for test in tests])
    noise = np.diag([test.variance for test in tests])
    means: list[Floats] = []
    spreads: list[Floats] = []
    logs: list[float] = []
    for size in SIZES:
        own = size**2 * prior
        total = a @ own @ a.T + noise
        gain = own @ a.T @ np.linalg.inv(total)
        means.append(gain @ off)
        spreads.append(own - gain @ a @ own)
        sign_log = np.linalg.slogdet(total)[1]
        logs.append(-0.5 * float(off @ np.linalg.solve(total, off)) - 0.5 * float(sign_log))
    weights = chances * np.exp(np.array(logs) - max(logs))
    weights = weights / weights.sum()
    mean = np.einsum("t,tk->k", weights, np.array(means))
    between = np.array(means) - mean
    covariance = np.einsum("t,tkl->kl", weights, np.array(spreads))
    covariance += np.einsum("t,tk,tl->kl", weights, between, between)
    return mean, covariance, float(weights @ SIZES)


def holds(shares: Floats, source: int, part: float) -> Mask:
    """Rows that have the part of the budget to give."""
    return shares[:, source] >= part
