"""What is learned from, checked once: features, shares, outcome, weights, folds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realloc.base.errors import LogError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

FEW_ROWS = 20  # fewer rows to learn from are refused
LARGEST_FEATURE = 1e6  # encoded features are of the order 1; float32 networks overflow far above
LARGEST_OUTCOME = 1e100
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class NuisanceSample:
    """n rows: x (n, d), shares (n, K), outcome, weights and fold (n,), folds counted from 0."""

    x: NDArray[np.float32]
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
    folds: int,
) -> NuisanceSample:
    """A sample that every model can be fitted on; copies, so that the caller's arrays stay."""
    y = np.array(outcome, dtype=np.float64)
    if y.ndim != 1:
        raise LogError(f"Expected one outcome per row, got an array of shape {y.shape}.")
    sample = NuisanceSample(
        x=np.array(x, dtype=np.float32),
        shares=np.array(shares, dtype=np.float64),
        outcome=y,
        weights=np.ones(len(y)) if weights is None else np.array(weights, dtype=np.float64),
        fold=np.array(fold),
    )
    _check_shapes(sample)
    repair = "Leave out or repair these rows."
    _check_finite("features", sample.x, LARGEST_FEATURE, "Encode them first (`fit_encoder`).")
    _check_finite("shares", sample.shares, 1 + SUM_TOLERANCE, repair)
    _check_finite("outcome", y, LARGEST_OUTCOME, repair)
    _check_finite("weights", sample.weights, LARGEST_OUTCOME, repair)
    _check_simplex(sample.shares)
    _check_weights(sample.weights)
    _check_folds(sample, folds)
    return sample


def check_outcome(outcome: Floats, kind: str) -> None:
    """A log link needs an outcome that is never negative."""
    negative = int((outcome < 0).sum())
    if kind != "real" and negative:
        raise LogError(
            f'Expected an outcome of at least 0 for `outcome = "{kind}"` in [nuisances], got '
            f"{negative} negative of {len(outcome)} rows (down to {outcome.min():.6g}). "
            'Use `outcome = "real"`, or repair these rows.'
        )


def _check_shapes(sample: NuisanceSample) -> None:
    n = len(sample.outcome)
    if not n:
        raise LogError("Expected rows to learn from, got none.")
    x = sample.x.shape
    if len(x) != 2 or x[0] != n or x[1] < 1:
        raise LogError(f"Expected features of shape ({n}, d) for {n} outcomes, got {x}.")
    shares = sample.shares.shape
    if len(shares) != 2 or shares[0] != n or shares[1] < 2:
        raise LogError(f"Expected shares of shape ({n}, K) with K of at least 2, got {shares}.")
    for name, values in (("weights", sample.weights), ("folds", sample.fold)):
        if values.shape != (n,):
            raise LogError(f"Expected {name} of shape ({n},), got {values.shape}.")
    if not np.issubdtype(sample.fold.dtype, np.integer):
        raise LogError(
            f"Expected whole numbers as folds (from `unit_folds`), got {sample.fold.dtype}."
        )


def _check_finite(
    name: str,
    values: NDArray[np.floating],
    largest: float,
    remedy: str,
) -> None:
    within = np.abs(values) <= largest  # NaN compares as False
    wrong = ~within.reshape(len(values), -1).all(axis=1)
    if wrong.any():
        raise LogError(
            f"Expected finite {name} of at most {largest:g}, got others in {wrong.sum()} of "
            f"{len(values)} rows (first: row {int(wrong.argmax())}). {remedy}"
        )


def _check_simplex(shares: Floats) -> None:
    off = (shares < -SUM_TOLERANCE).any(axis=1) | (np.abs(shares.sum(axis=1) - 1) > SUM_TOLERANCE)
    if off.any():
        row = int(off.argmax())
        raise LogError(
            f"Expected shares of at least 0 that sum to 1, got others in {off.sum()} of "
            f"{len(shares)} rows (row {row}: sum {shares[row].sum():.6g}, "
            f"smallest {shares[row].min():.6g})."
        )


def _check_weights(weights: Floats) -> None:
    negative = int((weights < 0).sum())
    if negative:
        raise LogError(
            f"Expected weights of at least 0, got {negative} negative of {len(weights)} "
            f"(down to {weights.min():.6g})."
        )
    if not weights.any():
        raise LogError(f"Expected some weights above 0, got {len(weights)} zeros.")


def _check_folds(sample: NuisanceSample, folds: int) -> None:
    first = sample.fold.min()
    last = sample.fold.max()
    if first < 0 or last >= folds:
        raise LogError(
            f"Expected fold numbers from 0 to {folds - 1} for `folds = {folds}` in [nuisances], "
            f"got {first} to {last}. `unit_folds` makes them."
        )
    sizes = np.bincount(sample.fold, minlength=folds)
    if not sizes.all():
        raise LogError(
            f"Expected rows in each of {folds} folds, got none in fold {int(sizes.argmin())}."
        )
    weight = np.bincount(sample.fold, weights=sample.weights)
    if not weight.all():
        raise LogError(
            f"Expected weights above 0 in each of {folds} folds, got zeros in fold "
            f"{int(weight.argmin())}."
        )


def to_simplex(shares: Floats) -> Floats:
    """Clip below at 0 and scale to sum 1; a row of nothing but zeros becomes even."""
    clipped = np.maximum(shares, 0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.where(total > 0, clipped / np.where(total > 0, total, 1), 1 / shares.shape[1])
