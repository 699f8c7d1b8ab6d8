"""What a cause that nobody recorded could do to gains: omitted-variable bounds along a move.

|bias| ≤ √(R²_Y · R²_P / (1 − R²_P)) · σ · s(x) · √(dᵀ Σ⁻¹ d),   d = p' − p

R²_Y and R²_P are the parts that the cause explains of what states leave of the outcome and of the
move, σ s(x) is what state and mix leave of the outcome (s: its level), Σ the covariance of p − ê,
all out of fold. The square root of the first two factors is the cause's `strength`; the others say
how long the move is in standard deviations of what the log itself varied.

A recorded feature shows what is large: how much it explains beyond all the others
(Cinelli and Hazlett, 2020, whose bounds these are with one treatment).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from realloc.base.simplex import Floats, Rows, tangent_basis
from realloc.learn.window import Window

MOST_ROWS = 20_000  # that features are compared on
SHOWN = 12  # features that are kept, the strongest first
RIDGE = 1e-6  # per row
THINNEST = (
    1e-6  # of the largest variance of shares; directions that never vary have as much
)
MOST = 0.99  # that a cause explains of a move


def strength_of(of_outcome: float, of_move: float) -> float:
    """√(R²_Y · R²_P / (1 − R²_P)): 0 for a cause that touches only one of the two.

    >>> round(strength_of(0.2, 0.2), 3)
    0.224
    """
    share = min(of_move, MOST)
    return float(np.sqrt(min(of_outcome, 1.0) * share / (1 - share)))


@dataclass(frozen=True)
class FeatureStrength:
    """What a recorded feature explains beyond the others: of the outcome, of the mix."""

    name: str
    of_outcome: float
    of_moves: float  # in the direction that it decides most

    def times(self, factor: float) -> float:
        """The strength of a hidden cause `factor` times as strong as this feature."""
        of_move = factor * _odds(self.of_moves)
        shared = factor * self.of_moves * _odds(self.of_moves)
        shared /= max(1 - factor * self.of_moves, 1 - MOST)
        shared = min(shared, MOST)
        grows = (np.sqrt(factor) + np.sqrt(shared)) ** 2 / (1 - shared)
        return strength_of(float(grows) * _odds(self.of_outcome), of_move)


def _odds(part: float) -> float:
    return part / (1 - min(part, MOST))


@dataclass(frozen=True)
class HiddenCauses:
    """How far gains of a fitted model may be off by a hidden cause, and features to compare."""

    noise: float  # σ, relative to the level of the outcome where there is one
    metric: tuple[tuple[float, ...], ...]  # Σ⁻¹ along moves (K, K)
    features: tuple[FeatureStrength, ...]  # the strongest first

    def offset(self, start: Floats, ends: Floats) -> Floats:
        """|bias| by a cause of strength 1, starts (a, K) → ends (a, m, K): (a, m)."""
        move = ends - start[:, None]
        squared = ((move @ np.array(self.metric)) * move).sum(axis=-1)
        return self.noise * np.sqrt(np.maximum(squared, 0.0))

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> "HiddenCauses":
        """Of what `asdict` gave."""
        metric = np.array(table["metric"], dtype=np.float64)
        if metric.ndim != 2 or metric.shape[0] != metric.shape[1]:
            raise ValueError(f"the metric of hidden causes has the shape {metric.shape}")
        return cls(
            noise=float(table["noise"]),
            metric=as_rows(metric),
            features=tuple(FeatureStrength(**one) for one in table["features"]),
        )


def as_rows(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    """A matrix as plain numbers."""
    return tuple(tuple(row) for row in matrix.tolist())


def measure_hidden(
    rows: Window, usual: Floats, noise: float, size: Floats | None = None
) -> HiddenCauses:
    """Of a window with its usual mixes ê (n, K) and levels s (n,); `noise`: σ."""
    left = (rows.shares - usual) @ tangent_basis(rows.shares.shape[1])
    covariance = np.atleast_2d(np.cov(left.T, aweights=rows.weights))
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, max(THINNEST * values.max(), 1e-12))
    Q = tangent_basis(rows.shares.shape[1])
    metric = Q @ (vectors / values) @ vectors.T @ Q.T
    return HiddenCauses(noise, as_rows(metric), compare_features(rows, size))


def compare_features(
    rows: Window, size: Floats | None = None
) -> tuple[FeatureStrength, ...]:
    """What each feature explains beyond the others, the strongest first.

    Also through the level: y + ȳ log s is what the outcome would be relative to one level for all.
    """
    if rows.columns is None:
        return ()
    part = np.arange(0, len(rows.x), -(-len(rows.x) // MOST_ROWS))
    x = rows.x[part].astype(np.float64)
    w = rows.weights[part]
    shares = rows.shares[part] @ tangent_basis(rows.shares.shape[1])
    state = np.column_stack([x, np.square(x)])
    owner = np.array([*rows.columns, *rows.columns])
    of_mix = _Regression(state, shares, w)
    both = np.column_stack([state, shares, np.square(shares)])
    outcome = rows.outcome
    if size is not None:
        outcome = outcome + outcome.mean() * np.log(size)
    of_outcome = _Regression(both, outcome[part][:, None], w)
    found: list[FeatureStrength] = []
    for name in dict.fromkeys(rows.columns):
        own = np.flatnonzero(owner == name)
        found.append(FeatureStrength(name, of_outcome.beyond(own), of_mix.beyond(own)))
    return tuple(sorted(found, key=lambda one: -one.times(1.0))[:SHOWN])


class _Regression:
    """Weighted least squares on centred columns, with and without some of them."""

    def __init__(self, design: Floats, targets: Floats, weights: Floats) -> None:
        total = weights.sum()
        design = design - weights @ design / total
        targets = targets - weights @ targets / total
        self.gram = (design * weights[:, None]).T @ design / total
        self.cross = (design * weights[:, None]).T @ targets / total
        self.squares = (targets * weights[:, None]).T @ targets / total
        self.gram[np.diag_indices(len(self.gram))] += RIDGE
        self.left = self._left(np.arange(len(self.gram)))

    def beyond(self, own: Rows) -> float:
        """The part of what the others leave that these columns explain, along one direction."""
        others = np.setdiff1d(np.arange(len(self.gram)), own)
        without = self._left(others)
        values, vectors = np.linalg.eigh(without)
        if values.max(initial=0.0) <= 0:
            return 0.0
        root = vectors / np.sqrt(np.maximum(values, THINNEST * values.max()))
        explained = root.T @ (without - self.left) @ root
        return float(np.clip(np.linalg.eigvalsh(explained).max(), 0.0, MOST))

    def _left(self, kept: Rows) -> Floats:
        if not len(kept):
            return self.squares
        part = self.cross[kept]
        return self.squares - part.T @ np.linalg.solve(self.gram[np.ix_(kept, kept)], part)
