"""STrees: y ≈ f([x, p]) by gradient boosted trees (LightGBM), stopped by held-out units."""

from dataclasses import dataclass

import lightgbm as lgb
import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats
from realloc.base.validation import check_types
from realloc.baselines.response import ResponsePolicy, States, Task
from realloc.evaluate.trees import boost

PATIENCE = 50


@dataclass(frozen=True, kw_only=True)
class TreeConfig:
    """Sizes of the boosting."""

    trees: int = 1500  # at most
    leaves: int = 4  # by held-out error on world seeds 201 and 202
    shrinkage: float = 0.05

    def __post_init__(self) -> None:
        check_types(self, "the trees")
        if self.trees < 1 or self.leaves < 2 or not 0 < self.shrinkage <= 1:
            raise ConfigError(
                "Expected `trees` of at least 1, `leaves` of at least 2 and `shrinkage` in (0, 1]."
            )


@dataclass(frozen=True)
class TreeResponse:
    """A booster's prediction."""

    booster: lgb.Booster

    def values(self, x: States, shares: Floats) -> Floats:
        """At states (n, d) and shares (n, q, K): (n, q)."""
        n, q, _ = shares.shape
        inputs = join(np.repeat(x, q, axis=0), shares.reshape(n * q, -1))
        return np.asarray(self.booster.predict(inputs, num_threads=1)).reshape(n, q)


class STrees(ResponsePolicy):
    """The joint S-learner by trees."""

    defaults = TreeConfig()
    settings: TreeConfig

    def fit_response(self, task: Task) -> TreeResponse:
        """Squared error; rounds stop by the units of the first fold."""
        window = task.window
        held = window.folds == 0
        options = {
            "objective": "l2",
            "learning_rate": self.settings.shrinkage,
            "num_leaves": self.settings.leaves,
            "num_iterations": self.settings.trees,
            "min_data_in_leaf": max(5, min(40, len(window.x) // 50)),
            "feature_fraction": 1.0,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "seed": task.seed % 2**31,
        }
        inputs = join(window.x, window.shares)
        train = np.flatnonzero(~held)
        stop = np.flatnonzero(held)
        return TreeResponse(
            boost(inputs, window.outcome, train, stop, options, patience=PATIENCE)
        )


def join(x: States, shares: Floats) -> Floats:
    """Inputs [x, p]."""
    return np.column_stack([x.astype(np.float64), shares])
