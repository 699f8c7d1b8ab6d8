"""What the DML peers share: treatments, cross-fitting by unit, nuisances and an effect θ(x)·φ(t).

t = Qᵀp are the shares in tangent coordinates, so that even shares are t = 0. φ(t) is t, or t with
squares and products.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.imports import need
from realloc.base.simplex import Floats, Integers, tangent_basis
from realloc.baselines.response import ResponsePolicy, States, Task
from realloc.model.config import Config

MODELS = ("products", "boosting")
RowSplit = tuple[Integers, Integers]


@dataclass(frozen=True)
class DmlEffect:
    """The effect of shares relative to even ones, by a fitted EconML estimator."""

    estimator: Any
    degree: int = 1

    def values(self, x: States, shares: Floats) -> Floats:
        """θ(x)·φ(t) at shares (n, q, K): (n, q)."""
        t = shares @ tangent_basis(shares.shape[-1])
        return np.einsum("nf,nqf->nq", self.theta(x), expand(t, self.degree))

    def slopes(self, x: States, shares: Floats) -> Floats:
        """∇_p at shares (n, K): (n, K)."""
        Q = tangent_basis(shares.shape[-1])
        return (
            np.einsum("nf,nfd->nd", self.theta(x), expand_slopes(shares @ Q, self.degree))
            @ Q.T
        )

    def theta(self, x: States) -> Floats:
        """The effect of every feature of the shares at states (n, d): (n, f)."""
        return self.estimator.const_marginal_effect(x).reshape(len(x), -1)


class DmlPolicy(ResponsePolicy):
    """An estimator of EconML, cross-fitted by unit, and a search."""

    package = "econml.dml"

    def __init__(self, search: str, config: Config | None, models: Sequence[str]) -> None:
        super().__init__(search, config)
        if not models or not set(models) <= set(MODELS):
            raise ConfigError(
                f"Expected one or more `models` of {list(MODELS)}, got {list(models)}."
            )
        self.models = models

    def fit_estimator(
        self, task: Task, name: str, degree: int = 1, **options: Any
    ) -> DmlEffect:
        """The effect by the estimator of this name, with nuisances that EconML chooses from
        `models` by cross-validation.
        """
        rows = task.window
        several = need("sklearn.multioutput", "peers").MultiOutputRegressor
        model_y: list[Any] = []
        model_t: list[Any] = []
        for model in self.models:
            is_linear = model == "products"
            model_y.append(products() if is_linear else boosting(task.seed))
            model_t.append(products() if is_linear else several(boosting(task.seed)))
        estimator = getattr(need("econml.dml", "peers"), name)(
            model_y=model_y,
            model_t=model_t,
            cv=split_by(rows.folds),
            random_state=task.seed % 2**31,
            **options,
        )
        t = rows.shares @ tangent_basis(rows.shares.shape[1])
        estimator.fit(rows.outcome, t, X=rows.x, inference=None)
        return DmlEffect(estimator, degree)


def expand(t: Floats, degree: int) -> Floats:
    """φ(t), (..., f): as sklearn's PolynomialFeatures without the constant.

    >>> expand(np.array([2.0, 3.0]), 2).tolist()
    [2.0, 3.0, 4.0, 6.0, 9.0]
    """
    if degree == 1:
        return t
    i, j = np.triu_indices(t.shape[-1])
    return np.concatenate([t, t[..., i] * t[..., j]], axis=-1)


def expand_slopes(t: Floats, degree: int) -> Floats:
    """∂φ/∂t at t (n, D): (n, f, D)."""
    eye = np.eye(t.shape[-1])
    first = np.broadcast_to(eye, (len(t), *eye.shape))
    if degree == 1:
        return first
    i, j = np.triu_indices(t.shape[-1])
    return np.concatenate([first, t[:, i, None] * eye[j] + t[:, j, None] * eye[i]], axis=1)


def split_by(folds: Integers) -> list[RowSplit]:
    """Rows to learn from and rows to predict, for every fold: whole units on either side."""
    numbers = np.unique(folds)
    return [
        (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in numbers
    ]


def boosting(seed: int) -> Any:
    """Gradient boosted trees."""
    return need("lightgbm").LGBMRegressor(
        n_estimators=200,
        learning_rate=0.05,
        num_leaves=8,
        min_child_samples=40,
        subsample=0.8,
        subsample_freq=1,
        colsample_bytree=0.7,
        reg_lambda=5.0,
        random_state=seed % 2**31,
        deterministic=True,
        force_row_wise=True,
        n_jobs=1,
        verbose=-1,
    )


def products() -> Any:
    """Ridge regression on features, their squares and products."""
    preprocessing = need("sklearn.preprocessing", "peers")
    linear = need("sklearn.linear_model", "peers")
    return need("sklearn.pipeline", "peers").make_pipeline(
        preprocessing.PolynomialFeatures(degree=2, include_bias=False),
        preprocessing.StandardScaler(),
        linear.RidgeCV(alphas=np.logspace(0, 4, 5)),
    )
