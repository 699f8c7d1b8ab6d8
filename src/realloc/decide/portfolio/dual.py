"""Prices of shared resources: the Lagrangian dual of one option per unit, by cutting planes.

D(λ) = λ·b + Σᵢ maxⱼ (gᵢⱼ − λ·eᵢⱼ) is convex and piecewise linear. For every λ ≥ 0 it is at least
the best gain within the limits. Letters as in `knapsack.py`; λ prices.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats
from realloc.decide.portfolio.knapsack import Knapsack

ROUNDS = 300  # cutting planes at most
TOLERANCE = 3e-8  # of the optimum, as a part of the summed ranges of gain


@dataclass(frozen=True, eq=False)
class Priced:
    """The dual at some prices: its value and its slope there."""

    prices: Floats  # (R,)
    value: float
    slope: Floats  # (R,)


def evaluate(problem: Knapsack, prices: Floats) -> Priced:
    """D(λ) and its slope b − Σe."""
    score = problem.score(prices)
    option = score.argmax(axis=1)
    groups = np.arange(len(option))
    value = float(problem.count @ score[groups, option] + prices @ problem.room)
    used = problem.count @ problem.excess[groups, option]
    return Priced(prices, value, (problem.room - used).astype(np.float64))


def minimise_dual(problem: Knapsack) -> Priced:
    """The lowest D(λ) found.

    Each round solves a linear program over the cuts so far, inside a box around the best prices;
    the box grows while the program's promises are kept. Ends when the promise is small, or when D
    falls below the worst of all choices, which proves that no choice keeps all limits.
    """
    best = evaluate(problem, np.zeros(len(problem.room)))
    cuts = [best]
    radius = 1.0
    smallest = TOLERANCE * problem.gain_scale * problem.count.sum()
    lowest = lowest_gain(problem)
    for _ in range(ROUNDS):
        prices, promise = _propose(problem, cuts, best, radius)
        if promise <= smallest:
            if radius >= 1.0:
                break
            radius *= 8.0  # a small box promises little; the proof needs a large one
            continue
        new = evaluate(problem, prices)
        cuts.append(new)
        kept = best.value - new.value
        radius *= 4.0 if kept > 0.5 * promise else (0.5 if kept < -promise else 1.0)
        if kept > 0:
            best = new
        if best.value < lowest:
            break
    return best


def lowest_gain(problem: Knapsack) -> float:
    """A gain below that of every choice: a dual below it proves that no choice keeps all limits."""
    worst = np.where(np.isfinite(problem.gain), problem.gain, np.inf).min(axis=1)
    return float(problem.count @ (worst - 1e-6 * problem.gain_scale))


def _propose(
    problem: Knapsack, cuts: list[Priced], best: Priced, radius: float
) -> tuple[Floats, float]:
    """Prices in the box at which the highest cut is lowest, and how far below the best value."""
    from scipy.optimize import linprog

    # prices in the program are multiples of it, near 1
    unit = problem.gain_scale / problem.scale
    n = problem.count.sum()
    slopes = np.array([cut.slope for cut in cuts]) / problem.scale / n  # (C, R)
    heights = np.array([cut.value - best.value for cut in cuts]) / problem.gain_scale / n
    at = np.array([(cut.prices - best.prices) / unit for cut in cuts])
    rows: Floats = np.column_stack([slopes, -np.ones(len(cuts))])
    low = np.maximum(-radius, -best.prices / unit)
    result = linprog(
        np.append(np.zeros(len(unit)), 1.0),
        A_ub=rows,
        b_ub=(slopes * at).sum(axis=1) - heights,
        bounds=[*zip(low, np.full(len(unit), radius), strict=True), (None, None)],
        method="highs",
    )
    if result.x is None:
        return best.prices, 0.0
    prices = np.maximum(best.prices + np.asarray(result.x[:-1]) * unit, 0.0)
    return prices, -float(result.x[-1]) * problem.gain_scale * float(n)
