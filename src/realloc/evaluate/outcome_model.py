"""m(x, p) ≈ E[Y | state, start, shares], cross-fitted by unit:
no row is predicted by trees that saw its unit.

Trees start from a ridge regression, as most of an outcome is smooth in what is known before. The
model takes noise out of a value; it cannot bias one that has the right propensities.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Integers, Rows
from realloc.evaluate.randomized import Randomized
from realloc.evaluate.result import group_codes
from realloc.evaluate.trees import boost

if TYPE_CHECKING:
    import lightgbm as lgb

# (shares (r, K), row numbers (r,)) → expected outcome (r,)
OutcomeModel = Callable[[Floats, Rows], Floats]
FOLDS = 5
# At most 200 trees; rounds stop by the error on units held out.
TREES = {"num_iterations": 200, "learning_rate": 0.1, "num_leaves": 8, "seed": 0}
PENALTY = 1e-2  # of the ridge regression, per row, on standardised columns
FURTHEST = 8.0  # standard deviations beyond which a line is not trusted


@dataclass(frozen=True, eq=False)
class Ridge:
    """A linear start: standardise, fill missing values with the mean, then weights."""

    columns: Rows  # those that a line may use: codes have no order
    centre: Floats
    scale: Floats
    weights: Floats
    constant: float

    def __call__(self, x: Floats) -> Floats:
        """The line's outcome of each row."""
        return self.constant + self.standardise(x) @ self.weights

    def standardise(self, x: Floats) -> Floats:
        """Columns of mean 0 and spread 1; missing values count as the mean."""
        z = np.nan_to_num((x[:, self.columns] - self.centre) / self.scale)
        return np.clip(z, -FURTHEST, FURTHEST)


@dataclass(frozen=True, eq=False)
class FoldFit:
    """What was learned without one fold: a line, and trees on what it leaves."""

    line: Ridge
    trees: "lgb.Booster"


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """One fit per fold; a call predicts each row by the fit that never saw its unit."""

    rows: Randomized
    fold: Rows  # (n,)
    fits: tuple[FoldFit, ...]

    def __call__(self, shares: Floats, rows: Rows) -> Floats:
        """The expected outcome of rows (by number) at `shares` (r, K)."""
        x = design(self.rows, shares, rows)
        outcome = np.empty(len(rows))
        for fold, fit in enumerate(self.fits):
            here = self.fold[rows] == fold
            if here.any():
                rest = fit.trees.predict(x[here], num_threads=1)
                outcome[here] = fit.line(x[here]) + np.asarray(rest)
        return outcome


def fit_outcome_model(rows: Randomized) -> CrossFitted:
    """Fit once; any number of policies can be valued with it."""
    fold = unit_fold(rows.unit)
    x = design(rows, rows.logged, np.arange(len(rows)))
    options = {"objective": "l2", "boost_from_average": False, **TREES}
    columns = np.setdiff1d(np.arange(x.shape[1]), rows.categorical)
    fits: list[FoldFit] = []
    for train, stop in splits(fold):
        line = _fit_ridge(x[train], rows.outcome[train], columns)
        trees = boost(x, rows.outcome - line(x), train, stop, options, rows.categorical)
        fits.append(FoldFit(line, trees))
    return CrossFitted(rows, fold, tuple(fits))


def no_model(shares: Floats, rows: Rows) -> Floats:
    """Predicts 0 everywhere: with it, doubly robust values are plain inverse propensity ones."""
    return np.zeros(len(rows))


def design(rows: Randomized, shares: Floats, picked: Rows) -> Floats:
    """State, start shares and move, (r, d + 2K)."""
    start = rows.start[picked]
    return np.concatenate([rows.state[picked], start, shares - start], axis=1)


def unit_fold(unit: Rows) -> Integers:
    """A fold per row, whole units, as even as can be; fewer folds where there are fewer units."""
    codes = group_codes(unit)
    units = int(codes.max()) + 1
    if units < 2:
        raise LogError(
            "Expected at least 2 units to cross-fit by unit, got 1. Use the rows of more units."
        )
    return (np.random.default_rng(0).permutation(units) % min(FOLDS, units))[codes]


def splits(fold: Rows) -> Iterator[tuple[Rows, Rows]]:
    """For each fold, the rows to learn from and the rows of a further fold that say when to
    stop.
    """
    folds = int(fold.max()) + 1
    for away in range(folds):
        judge = (away + 1) % folds
        stop = np.flatnonzero(fold == judge)
        train = np.flatnonzero((fold != away) & (fold != judge)) if folds > 2 else stop
        yield train, stop


def _fit_ridge(x: Floats, y: Floats, columns: Rows) -> Ridge:
    known = np.ma.masked_invalid(x[:, columns])
    centre = known.mean(axis=0).filled(0.0)
    spread = known.std(axis=0).filled(0.0)
    # A constant column says nothing.
    scale = np.where(spread > 1e-12 * (1 + np.abs(centre)), spread, np.inf)
    flat = Ridge(columns, centre, scale, np.zeros(len(columns)), float(y.mean()))
    z = flat.standardise(x)
    gram = z.T @ z + PENALTY * len(x) * np.eye(len(columns))
    weights = np.linalg.lstsq(gram, z.T @ (y - y.mean()), rcond=None)[0]
    return replace(flat, weights=weights)
