"""Prices of shared resources: the Lagrangian dual of one option per unit under caps, by cutting planes.

D(λ) = λ·b + Σᵢ maxⱼ (gᵢⱼ − λ·eᵢⱼ) is convex, piecewise linear and, for every λ ≥ 0, not below the best reachable gain.
g gain, e use above the unit's least possible use, b limit above the sum of these least uses, λ prices.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import LARGEST_MINOR, Floats, Integers
from realloc.decide.portfolio.menu import Menu


@dataclass(frozen=True, eq=False)
class Knapsack:
    """A menu with every use counted from the unit's least, so that uses and rooms are not negative."""

    gain: Floats  # (n, J), −inf where not possible
    excess: Floats  # (R, n, J), whole numbers up to 2⁵³
    room: Integers  # (R,)
    gain_scale: float  # mean over units of the range of gains
    scale: Floats  # (R,) mean over units of the range of uses

    def used(self, option: Integers) -> Integers:
        """Exact total excess of one option per unit, (R,)."""
        rows = np.arange(len(option))
        return np.array(
            [part[rows, option].astype(np.int64).sum() for part in self.excess], dtype=np.int64
        )

    def score(self, prices: Floats) -> Floats:
        """gᵢⱼ − λ·eᵢⱼ, (n, J)."""
        score = self.gain.copy()
        for price, part in zip(prices.tolist(), self.excess, strict=True):
            if price:
                score -= price * part
        return score


@dataclass(frozen=True, eq=False)
class Priced:
    """The dual at some prices: its value, the choice that attains it and the slope b − Σe there."""

    prices: Floats  # (R,)
    value: float
    slope: Floats  # (R,)
    option: Integers  # (n,)


def to_knapsack(menu: Menu, limits: Integers) -> Knapsack:
    """The menu without options that no feasible choice contains.

    An option is out when it exceeds a limit even with every other unit at its least use. Taking it out may raise the
    least use of another resource, so this repeats until nothing changes. A negative room means that no choice exists.
    """
    possible = menu.possible.copy()
    while True:
        shown = np.where(possible[:, :, None], menu.use, LARGEST_MINOR)
        least = shown.min(axis=1)  # (n, R)
        room = limits - least.sum(axis=0)
        reach = least + np.minimum(room, LARGEST_MINOR)
        fits = possible & (menu.use <= reach[:, None, :]).all(axis=-1)
        if (room < 0).any() or not fits.any(axis=1).all() or (fits == possible).all():
            break
        possible = fits
    if not fits.any(axis=1).all():
        room = np.minimum(room, -1)
    gain = np.where(possible, menu.gain, -np.inf)
    excess = np.moveaxis(
        np.where(possible[:, :, None], menu.use - least[:, None, :], 0), -1, 0
    ).astype(np.float64)
    spread = gain.max(axis=1) - np.where(possible, menu.gain, np.inf).min(axis=1)
    scale = excess.max(axis=2).mean(axis=1)
    return Knapsack(
        gain,
        np.ascontiguousarray(excess),
        room,
        float(spread.mean()) or 1.0,
        np.where(scale > 0, scale, 1.0),
    )


def evaluate(problem: Knapsack, prices: Floats) -> Priced:
    """D(λ), its slope and the choice that attains it; equal scores go to the lowest option."""
    score = problem.score(prices)
    option = score.argmax(axis=1)
    value = float(score[np.arange(len(option)), option].sum() + prices @ problem.room)
    return Priced(prices, value, (problem.room - problem.used(option)).astype(np.float64), option)


def minimise_dual(problem: Knapsack, rounds: int, tolerance: float) -> tuple[Priced, Integers]:
    """The prices of the lowest D(λ) found, and a mix of the choices that meet there, whose uses almost fit the room.

    Each round solves a linear program over the cuts so far, inside a box around the best prices; the box grows while its
    promises are kept. Ends when the promise is below `tolerance` of the units' summed ranges of gain, or when D falls
    below the worst of all choices, which proves that no choice keeps all limits.
    """
    best = evaluate(problem, np.zeros(len(problem.room)))
    cuts, weights, radius = [best], np.ones(1), 1.0
    lowest, smallest = lowest_gain(problem), tolerance * problem.gain_scale * len(problem.gain)
    for _ in range(rounds):
        prices, promise, weights = _propose(problem, cuts, best, radius)
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
    return best, _mix(cuts, weights)


def _mix(cuts: list[Priced], weights: Floats) -> Integers:
    """Each unit's option from one of the cuts, every cut as often as its weight and evenly over the order of the units.

    Where many units are equal, prices alone move them all at once; the mix splits them as the linear program would.
    """
    n = len(cuts[0].option)
    place = np.arange(n) * ((np.sqrt(5) - 1) / 2) % 1.0
    cut = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], place, side="right")
    mixed = cuts[0].option.copy()
    for k in np.unique(cut).tolist():
        mixed[cut == k] = cuts[k].option[cut == k]
    return mixed


def lowest_gain(problem: Knapsack) -> float:
    """A value that every choice reaches, less a little for float error: a dual below it proves that there is none."""
    worst = np.where(np.isfinite(problem.gain), problem.gain, np.inf).min(axis=1)
    return float(worst.sum() - 1e-6 * problem.gain_scale * len(worst))


def _propose(
    problem: Knapsack, cuts: list[Priced], best: Priced, radius: float
) -> tuple[Floats, float, Floats]:
    """Where the largest of the cuts is lowest within the box, how far below the best value, and the cuts' weights there."""
    unit = problem.gain_scale / problem.scale  # prices in the program are multiples of it, near 1
    n = len(problem.gain)
    slopes = np.array([cut.slope for cut in cuts]) / problem.scale / n  # (C, R)
    heights = np.array([cut.value - best.value for cut in cuts]) / problem.gain_scale / n
    at = np.array([(cut.prices - best.prices) / unit for cut in cuts])
    rows: NDArray[np.float64] = np.column_stack([slopes, -np.ones(len(cuts))])
    low = np.maximum(-radius, -best.prices / unit)
    from scipy.optimize import linprog

    result = linprog(
        np.append(np.zeros(len(unit)), 1.0),
        A_ub=rows,
        b_ub=(slopes * at).sum(axis=1) - heights,
        bounds=[*zip(low, np.full(len(unit), radius), strict=True), (None, None)],
        method="highs",
    )
    if result.x is None:
        return best.prices, 0.0, np.append(np.zeros(len(cuts) - 1), 1.0)
    step, depth = np.asarray(result.x[:-1]), float(result.x[-1])
    weights = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
    return np.maximum(best.prices + step * unit, 0.0), -depth * problem.gain_scale * n, weights
