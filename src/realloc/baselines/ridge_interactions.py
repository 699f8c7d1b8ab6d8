"""RidgeInteractions: y ≈ φ(x, p)·b by ridge regression, as a data scientist would build it first.

φ = x, p, all p_k p_l (squares too) and all x_j p_k, standardised
b = argmin mean (y − b₀ − φ·b)² + λ ‖b‖²

λ is the one of least squared error on units that a fit never saw. In the shares the response is a
quadratic whose slopes depend on the state.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats
from realloc.base.validation import check_types
from realloc.baselines.response import ResponsePolicy, States, Task


@dataclass(frozen=True, kw_only=True)
class RidgeConfig:
    """Penalties λ to choose from; columns have variance 1."""

    penalties: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)

    def __post_init__(self) -> None:
        check_types(self, "the ridge")
        if not self.penalties or min(self.penalties) <= 0:
            raise ConfigError(
                f"Expected one or more `penalties` above 0, got {list(self.penalties)}."
            )


@dataclass(frozen=True)
class QuadraticResponse:
    """level + a·x + b·p + pᵀ C p + xᵀ W p."""

    level: float
    state: Floats  # a (d,)
    linear: Floats  # b (K,)
    square: Floats  # C (K, K), symmetric
    product: Floats  # W (d, K)
    penalty: float

    def values(self, x: States, shares: Floats) -> Floats:
        """At states (n, d) and shares (n, q, K): (n, q)."""
        baseline = self.level + x @ self.state
        slopes = (self.linear + x @ self.product)[:, None] + shares @ self.square
        return baseline[:, None] + (shares * slopes).sum(axis=-1)

    def slopes(self, x: States, shares: Floats) -> Floats:
        """∇_p at shares (n, K): (n, K)."""
        return self.linear + x @ self.product + 2 * shares @ self.square


class RidgeInteractions(ResponsePolicy):
    """Ridge regression with interactions, and a search."""

    defaults = RidgeConfig()
    settings: RidgeConfig

    def fit_response(self, task: Task) -> QuadraticResponse:
        """Choose λ by folds of units, then fit all rows."""
        window = task.window
        columns = expand(window.x, window.shares)
        outcome = window.outcome
        penalties = self.settings.penalties
        error = np.zeros(len(penalties))
        for fold in np.unique(window.folds):
            held = window.folds == fold
            levels, slopes = solve(columns[~held], outcome[~held], penalties)
            missed = outcome[held, None] - levels - columns[held] @ slopes
            error += np.square(missed).sum(axis=0)
        penalty = penalties[int(error.argmin())]
        levels, slopes = solve(columns, outcome, (penalty,))
        return to_response(levels[0], slopes[:, 0], window.shares.shape[1], penalty)


def expand(x: States, shares: Floats) -> Floats:
    """φ of states (n, d) and shares (n, K): (n, d + K + K (K + 1) / 2 + d K)."""
    i, j = np.triu_indices(shares.shape[1])
    states = x.astype(np.float64)
    products = (states[:, :, None] * shares[:, None]).reshape(len(x), -1)
    return np.concatenate([states, shares, shares[:, i] * shares[:, j], products], axis=1)


def solve(
    columns: Floats, outcome: Floats, penalties: tuple[float, ...]
) -> tuple[Floats, Floats]:
    """Levels (L,) and slopes (p, L), one for each penalty, from one decomposition.

    Columns that never vary get no slope.
    """
    centre = columns.mean(axis=0)
    spread = columns.std(axis=0)
    scale = np.where(spread > 1e-9 * (1 + np.abs(centre)), spread, np.inf)
    scaled = (columns - centre) / scale
    values, vectors = np.linalg.eigh(scaled.T @ scaled / len(scaled))
    cross = vectors.T @ (scaled.T @ (outcome - outcome.mean())) / len(scaled)
    shrunk = cross[:, None] / (np.maximum(values, 0.0)[:, None] + np.array(penalties))
    slopes = (vectors @ shrunk) / scale[:, None]
    return outcome.mean() - centre @ slopes, slopes


def to_response(
    level: float, slopes: Floats, channels: int, penalty: float
) -> QuadraticResponse:
    """Slopes (p,) of the columns of `expand`, by what they stand for."""
    i, j = np.triu_indices(channels)
    states = (len(slopes) - channels - len(i)) // (1 + channels)
    ends = np.cumsum([states, channels, len(i)])
    state, linear, pairs, product = np.split(slopes, ends)
    upper = np.zeros((channels, channels))
    upper[i, j] = pairs
    return QuadraticResponse(
        level=float(level),
        state=state,
        linear=linear,
        square=(upper + upper.T) / 2,
        product=product.reshape(states, channels),
        penalty=penalty,
    )
