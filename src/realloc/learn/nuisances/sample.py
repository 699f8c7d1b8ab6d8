"""What is learned from, checked once: features, shares, outcome, weights, folds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realloc.base.errors import LogError
from realloc.base.numbers import written
from realloc.base.simplex import Floats
from realloc.learn.scaling import Floats32

Indices = NDArray[np.int64]

FEW_ROWS = 20  # fewer rows to learn from are refused
# encoded features are of the order 1; float32 networks overflow far above
LARGEST_FEATURE = 1e6


@dataclass(frozen=True)
class NuisanceSample:
    """n rows: x (n, d), shares (n, K), outcome, weights and fold (n,), folds counted from 0."""

    x: Floats32
    shares: Floats
    outcome: Floats
    weights: Floats
    fold: Indices

    @property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1


def check_sample(
    x: ArrayLike,
    shares: ArrayLike,
    outcome: ArrayLike,
    fold: ArrayLike,
    weights: ArrayLike | None,
) -> NuisanceSample:
    """A window's rows as copies, so that the caller's arrays stay; refused if no model can fit."""
    y = np.array(outcome, dtype=np.float64)
    sample = NuisanceSample(
        x=np.array(x, dtype=np.float32),
        shares=np.array(shares, dtype=np.float64),
        outcome=y,
        weights=np.ones(len(y)) if weights is None else np.array(weights, dtype=np.float64),
        fold=np.array(fold),
    )
    within = np.abs(sample.x) <= LARGEST_FEATURE  # NaN compares as False
    wrong = ~within.all(axis=1)
    if wrong.any():
        raise LogError(
            f"Expected finite features of at most {LARGEST_FEATURE:g}, got others in "
            f"{wrong.sum()} of {len(y)} rows (first: row {int(wrong.argmax())}). Encode them first "
            "(`fit_encoder`)."
        )
    weight = np.bincount(sample.fold, weights=sample.weights)
    if not weight.all():
        raise LogError(
            f"Expected weights above 0 in each of {sample.folds} folds, got zeros in fold "
            f"{int(weight.argmin())}."
        )
    return sample


def check_outcome(outcome: Floats, kind: str) -> None:
    """A log link needs an outcome that is never negative."""
    negative = int((outcome < 0).sum())
    if kind != "real" and negative:
        lowest = written(float(outcome.min()))
        raise LogError(
            f'Expected an outcome of at least 0 for `outcome = "{kind}"` in [nuisances], got '
            f"{negative} negative of {len(outcome)} rows (down to {lowest}). "
            'Use `outcome = "real"`, or repair these rows.'
        )


def to_simplex(shares: Floats) -> Floats:
    """Clip below at 0 and scale to sum 1; a row of nothing but zeros becomes even."""
    clipped = np.maximum(shares, 0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.where(total > 0, clipped / np.where(total > 0, total, 1), 1 / shares.shape[1])
