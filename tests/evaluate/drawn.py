"""Randomized rows to evaluate on: a menu whose arms have known effects,
and shares from a Dirichlet density.
"""

from dataclasses import replace

import numpy as np
from scipy.stats import dirichlet

from realloc.evaluate.randomized import RandomizedMoves, RandomizedShares
from realloc.evaluate.value import ValueConfig

OPEN = ValueConfig(
    least_effective_rows=0, least_effective_units=0
)  # few rows, to compute by hand
MOVES = np.array([[0.0, 0.0], [0.1, -0.1], [-0.1, 0.1]])
CHANCES = np.array([0.5, 0.2, 0.3])
SLOPE = 4.0  # expected outcome per share of the first channel, so an arm is worth ± 0.4


def menu_rows(
    units: int = 300, days: int = 5, seed: int = 0, noise: float = 0.5
) -> RandomizedMoves:
    """Outcome = state + unit + 4 · first share + noise; arms drawn by CHANCES."""
    rng = np.random.default_rng(seed)
    n = units * days
    unit = np.repeat(np.arange(units), days)
    first = rng.uniform(0.2, 0.8, n)
    state = rng.standard_normal((n, 2))
    drawn = rng.choice(3, n, p=CHANCES)
    level = state[:, 0] + 0.3 * rng.standard_normal(units)[unit]
    outcome = level + SLOPE * (first + MOVES[drawn, 0]) + noise * rng.standard_normal(n)
    start = np.stack([first, 1 - first], axis=1)
    return RandomizedMoves(
        start=start,
        moves=MOVES,
        probabilities=np.tile(CHANCES, (n, 1)),
        drawn=drawn,
        outcome=outcome,
        unit=unit,
        state=state,
    )


def with_outcome(rows: RandomizedMoves, outcome: np.ndarray) -> RandomizedMoves:
    return replace(rows, outcome=outcome)


def density_rows(
    n: int = 2000,
    alpha: tuple[float, ...] = (3.0, 3.0, 3.0),
    seed: int = 0,
    curve: float = 0.0,
    known: bool = False,
) -> RandomizedShares:
    """Outcome = 2 p₁ − p₂ − curve · (p₁ − 1/3)² + noise; shares from Dirichlet(alpha),
    start in the middle.

    `known`: the density is given as a function too.
    """
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(alpha, n)
    middle = np.full_like(shares, 1 / len(alpha))
    return RandomizedShares(
        start=middle,
        shares=shares,
        density=dirichlet.pdf(shares.T, alpha),
        outcome=surface(shares, curve) + 0.3 * rng.standard_normal(n),
        unit=np.arange(n),
        state=np.zeros((n, 1)),
        density_at=(lambda places, _: dirichlet.pdf(places.T / places.sum(axis=1), alpha))
        if known
        else None,
    )


def surface(shares: np.ndarray, curve: float = 0.0) -> np.ndarray:
    return 2 * shares[:, 0] - shares[:, 1] - curve * np.square(shares[:, 0] - 1 / 3)
