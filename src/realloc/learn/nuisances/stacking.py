"""Weights of models: w ≥ 0, Σ w = 1, least held-out squared error.

Since Σ w = 1, the error of the mix is the mix of the errors: ‖y − Pw‖² = wᵀAw with A = RᵀR, where
R = y − P are the residuals of each model. So a fold is its matrix A (models × models).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from realloc.learn.nuisances.sample import Floats


@dataclass(frozen=True)
class StackingChoice:
    """What was taken: the name (a model or `stack`) and a weight per model."""

    name: str
    weights: Floats


def gram(residuals: Floats, weights: Floats) -> Floats:
    """A = RᵀR of residuals (models, rows, …) with row weights: summed over rows and channels."""
    flat = residuals.reshape(*residuals.shape[:2], -1)
    return np.einsum("irk,jrk,r->ij", flat, flat, weights)


def simplex_weights(a: Floats) -> Floats:
    """argmin wᵀAw over w ≥ 0, Σ w = 1: the best feasible solution of all sets of active models."""
    models = len(a)
    scaled = a / (np.trace(a) or 1.0)
    best = np.full(models, 1 / models)
    least = np.inf
    for size in range(1, models + 1):
        for active in combinations(range(models), size):
            w = np.zeros(models)
            w[list(active)] = _equality(scaled[np.ix_(active, active)])
            error = float(w @ scaled @ w)
            if (w >= 0).all() and error < least - 1e-12:
                best = w
                least = error
    return best


def choose(parts: list[Floats], names: tuple[str, ...]) -> StackingChoice:
    """A single model or the stack, whichever errs less on a part with weights from the other parts.

    `parts` are matrices A of disjoint held-out rows. With one part only, the stack is taken.
    """
    total = np.sum(parts, axis=0)
    weights = simplex_weights(total)
    if len(names) == 1:
        return StackingChoice(names[0], weights)
    if len(parts) > 1:
        stacked = 0.0
        for part in parts:
            others = simplex_weights(total - part)
            stacked += float(others @ part @ others)
        single = int(np.diag(total).argmin())
        if total[single, single] < stacked:
            return StackingChoice(names[single], np.eye(len(names))[single])
    return StackingChoice("stack", weights)


def _equality(a: Floats) -> Floats:
    """argmin wᵀAw subject to Σ w = 1."""
    size = len(a)
    system = np.block([[a, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
    w = np.linalg.lstsq(system, np.r_[np.zeros(size), 1.0], rcond=None)[0][:size]
    return w / w.sum()
