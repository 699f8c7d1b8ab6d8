"""m(x, p) ≈ E[Y | state, start, shares], cross-fitted by unit: no row is predicted by trees that saw its unit.

Trees start from a ridge regression, as most of an outcome is smooth in what is known before. The model takes noise out
of a value; it cannot bias one that has the right propensities.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Floats
from realloc.evaluate.randomized import Randomized, Rows

OutcomeModel = Callable[
    [Floats, Rows], Floats
]  # (shares (r, K), row numbers (r,)) → expected outcome (r,)
PATIENCE = 20
FURTHEST = 8.0  # standard deviations beyond which a line is not trusted


@dataclass(frozen=True, kw_only=True)
class OutcomeModelConfig:
    """How trees are cross-fitted."""

    folds: int = 5
    trees: int = 200  # at most; rounds stop by the error on units held out
    leaves: int = 8
    shrinkage: float = 0.1
    ridge: float = 1e-2  # per row, on standardised columns
    seed: int = 0

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise ConfigError(
                f"Expected `folds` of at least 2 for cross-fitting, got {self.folds}."
            )
        if self.trees < 1 or self.leaves < 2 or not 0 < self.shrinkage <= 1 or self.ridge < 0:
            raise ConfigError(
                "Expected `trees` of at least 1, `leaves` of at least 2, `shrinkage` above 0 and up to 1, and `ridge` of at "
                "least 0 in the outcome model."
            )


@dataclass(frozen=True)
class Ridge:
    """A linear start: standardise, fill missing values with the mean, then weights."""

    centre: Floats
    scale: Floats
    weights: Floats
    constant: float

    def __call__(self, x: Floats) -> Floats:
        """The line's outcome of each row."""
        return self.constant + self.standardise(x) @ self.weights

    def standardise(self, x: Floats) -> Floats:
        """Columns of mean 0 and spread 1; what is missing counts as the mean."""
        return np.clip(np.nan_to_num((x - self.centre) / self.scale), -FURTHEST, FURTHEST)


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """One ridge and one booster per fold; a call predicts each row by those that never saw its unit."""

    rows: Randomized
    fold: Rows  # (n,)
    fits: tuple[tuple[Ridge, Any], ...]  # LightGBM ships no types

    def __call__(self, shares: Floats, rows: Rows) -> Floats:
        """The expected outcome of rows (by number) at `shares` (r, K)."""
        x = design(self.rows, shares, rows)
        found = np.empty(len(rows))
        for fold, (start, booster) in enumerate(self.fits):
            mine = self.fold[rows] == fold
            if mine.any():
                found[mine] = start(_linear(x[mine], self.rows)) + booster.predict(
                    x[mine], num_threads=1
                )
        return found


def fit_outcome_model(rows: Randomized, config: OutcomeModelConfig | None = None) -> CrossFitted:
    """Fit once; any number of policies can be valued with it."""
    config = config or OutcomeModelConfig()
    fold = unit_fold(rows.unit, config.folds, config.seed)
    x = design(rows, rows.logged, np.arange(len(rows)))
    fits: list[tuple[Ridge, Any]] = []
    for train, stop in splits(fold):
        start = _fit_ridge(_linear(x[train], rows), rows.outcome[train], config.ridge)
        rest = rows.outcome - start(_linear(x, rows))
        options = {
            "objective": "l2",
            "boost_from_average": False,
            **tree_options(config, len(train)),
        }
        fits.append((start, boost(x, rest, (train, stop), rows.categorical, options)))
    return CrossFitted(rows, fold, tuple(fits))


def boost(
    x: Floats,
    label: NDArray[Any],
    parts: tuple[Rows, Rows],
    categorical: tuple[int, ...],
    options: dict[str, Any],
    start: Floats | None = None,
) -> Any:
    """Trees learned on the first part, as many as are best on the second: a LightGBM booster. `start`: scores to add to."""
    # Costs most of a second, and only fitting needs it.
    import lightgbm as lgb

    kind: Any = list(categorical)
    learn, judge = (
        lgb.Dataset(
            x[part],
            label[part],
            init_score=None if start is None else start[part],
            categorical_feature=kind,
            params=options,
        )
        for part in parts
    )
    judge.set_reference(learn)
    return lgb.train(
        options, learn, valid_sets=[judge], callbacks=[lgb.early_stopping(PATIENCE, verbose=False)]
    )


def no_model(shares: Floats, rows: Rows) -> Floats:
    """Predicts 0 everywhere: with it, doubly robust values are plain inverse propensity ones."""
    return np.zeros(len(rows))


def design(rows: Randomized, shares: Floats, picked: Rows) -> Floats:
    """State, start shares and move, (r, d + 2K)."""
    start = rows.start[picked]
    return np.concatenate([rows.state[picked], start, shares - start], axis=1)


def unit_fold(unit: Rows, folds: int, seed: int) -> NDArray[np.int64]:
    """A fold per row, whole units, as even as can be; fewer folds where there are fewer units."""
    codes = np.unique(unit, return_inverse=True)[1]
    units = int(codes.max()) + 1
    if units < 2:
        raise LogError(
            "Expected at least 2 units to cross-fit by unit, got 1. Use the rows of more units."
        )
    return (np.random.default_rng(seed).permutation(units) % min(folds, units))[codes]


def splits(fold: Rows) -> Iterator[tuple[Rows, Rows]]:
    """For each fold, the rows to learn from and the rows of a further fold that say when to stop."""
    folds = int(fold.max()) + 1
    for away in range(folds):
        judge = (away + 1) % folds
        stop = np.flatnonzero(fold == judge)
        train = np.flatnonzero((fold != away) & (fold != judge)) if folds > 2 else stop
        yield train, stop


def tree_options(config: OutcomeModelConfig, n: int) -> dict[str, Any]:
    """LightGBM's options: deterministic, one thread, leaves that are not too small for n rows."""
    return {
        "num_iterations": config.trees,
        "learning_rate": config.shrinkage,
        "num_leaves": config.leaves,
        "min_data_in_leaf": max(5, min(40, n // 50)),
        "feature_fraction": 0.7,
        "lambda_l2": 5.0,
        "seed": config.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }


def _linear(x: Floats, rows: Randomized) -> Floats:
    """The columns a line may use: codes have no order."""
    return np.delete(x, rows.categorical, axis=1)


def _fit_ridge(x: Floats, y: Floats, penalty: float) -> Ridge:
    known = ~np.isnan(x)
    count = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, x, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.square(np.where(known, x - centre, 0.0)).sum(axis=0) / count)
    scale = np.where(
        spread > 1e-12 * (1 + np.abs(centre)), spread, np.inf
    )  # a constant column says nothing
    start = Ridge(centre, scale, np.zeros(x.shape[1]), float(y.mean()))
    z = start.standardise(x)
    gram = z.T @ z + penalty * len(x) * np.eye(x.shape[1])
    weights = np.linalg.lstsq(gram, z.T @ (y - y.mean()), rcond=None)[0]
    return replace(start, weights=weights)
