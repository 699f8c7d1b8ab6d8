"""The level of the outcome: how large it is expected to be at a state.

Where units differ in size, their sales, the noise of their sales and what a move brings them all
grow together. Learning then happens on outcomes relative to their level, and gains are given back
in the outcome's own units:

y / s(x),   s(x) = λ(x)^γ,   λ(x) = exp(bᵀx) by Poisson regression

γ is 0, ½ or 1: what held-out units say by their Gaussian likelihood. 0 means that there is no
level.
"""

from dataclasses import dataclass, replace

import numpy as np

from realloc.base.simplex import Floats, Mask
from realloc.learn.scaling import Floats32
from realloc.learn.window import Window

POWERS = (0.5, 1.0)
MOST_ROWS = 20_000  # that a level is learned from
MOST_BELOW = 0.05  # of the rows may have an outcome below 0
ROUNDING = 1e-12  # part of a square that is rounding
TINY = 1e-300
RIDGE = 1.0
WIDEST = 8.0  # of logarithms of levels, around their mean
LEAST_Z = 2.0  # of the likelihood's improvement, over units


@dataclass(frozen=True, eq=False)
class OutcomeLevel:
    """log s(x) = clip(bᵀx + offset, low, high)."""

    weights: Floats  # b (d,)
    offset: float
    low: float
    high: float

    def __call__(self, x: Floats32) -> Floats:
        """s of states (n, d): (n,)."""
        log_level = (x.astype(np.float64) * self.weights).sum(axis=1) + self.offset
        return np.exp(np.clip(log_level, self.low, self.high))


def fit_level(rows: Window, seed: int) -> OutcomeLevel | None:
    """The level of a window's outcome, or None where rows are comparable as they are."""
    y = rows.outcome
    if np.average(y < 0, weights=rows.weights) > MOST_BELOW or y.mean() <= 0:
        return None
    part = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    sample = replace(
        rows,
        x=rows.x[part],
        shares=rows.shares[part],
        outcome=y[part],
        folds=rows.folds[part],
        units=rows.units[part],
        weights=rows.weights[part],
        periods=rows.periods[part],
    )
    power = _best_power(sample)
    if power == 0:
        return None
    return _regress(sample, np.ones(len(part), dtype=bool), power)


def _best_power(rows: Window) -> float:
    """γ by the likelihood of held-out rows, if units agree on it; else 0."""
    likelihood = {power: np.zeros(len(rows.x)) for power in (0.0, *POWERS)}
    for fold in np.unique(rows.folds):
        held = rows.folds == fold
        for power, found in likelihood.items():
            level = _regress(rows, ~held, power)(rows.x)
            found[held] = _log_likelihood(rows, level, held)
    best = max(likelihood, key=lambda power: float(likelihood[power].sum()))
    better = (likelihood[best] - likelihood[0.0]) * rows.weights
    by_unit = np.bincount(rows.units, weights=better)
    error = float(np.sqrt(np.square(by_unit).sum()))
    return best if error > 0 and by_unit.sum() / error >= LEAST_Z else 0.0


def _log_likelihood(rows: Window, level: Floats, held: Mask) -> Floats:
    """Of held-out rows, by a linear model of the relative outcome with one variance."""
    x = np.column_stack([np.ones(len(rows.x)), rows.x])
    y = rows.outcome / level
    w = rows.weights * ~held
    gram = (x * w[:, None]).T @ x + RIDGE * np.eye(x.shape[1])
    left = y - x @ np.linalg.solve(gram, x.T @ (w * y))
    # All but the held-out rows may be alike.
    least = ROUNDING * float(np.average(np.square(y), weights=rows.weights))
    variance = max(float(np.average(np.square(left), weights=w)), least, TINY)
    return -0.5 * np.square(left[held]) / variance - np.log(level[held] * variance**0.5)


def _regress(rows: Window, chosen: Mask, power: float) -> OutcomeLevel:
    """Poisson regression of the outcome on the state, a small ridge on all but the constant."""
    from scipy.optimize import minimize  # not where a model is only used

    d = rows.x.shape[1]
    if power == 0:
        return OutcomeLevel(np.zeros(d), 0.0, 0.0, 0.0)
    x = np.column_stack([rows.x[chosen].astype(np.float64), np.ones(int(chosen.sum()))])
    w = rows.weights[chosen]
    mean = float(np.average(rows.outcome, weights=rows.weights))
    y = np.maximum(rows.outcome[chosen], 0.0) / mean
    penalty = RIDGE * np.append(np.ones(d), 0.0)

    def loss(b: Floats) -> tuple[float, Floats]:
        eta = np.clip(x @ b, -WIDEST, WIDEST)
        expected = np.exp(eta)
        slope = x.T @ (w * (expected - y)) + penalty * b
        return float(w @ (expected - y * eta) + 0.5 * penalty @ np.square(b)), slope

    b = minimize(loss, np.zeros(d + 1), jac=True, method="L-BFGS-B").x
    log_level = power * np.clip(x @ b, -WIDEST, WIDEST)
    centre = float(np.average(log_level, weights=w))
    return OutcomeLevel(
        weights=power * b[:-1],
        offset=power * float(b[-1]) - centre,
        low=float(log_level.min()) - centre,
        high=float(log_level.max()) - centre,
    )
