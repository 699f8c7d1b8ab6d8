"""From prices to one option per unit that keeps every limit exactly: repair, fill, then solve the undecided few exactly.

At the best prices all but about R units are decided; what is left is to settle these few in whole cents.
A switch (i, j) gives unit i option j. Its regret is what the priced score loses; all regrets and unused priced room
together are the duality gap.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Integers
from realloc.decide.portfolio.dual import Knapsack, Priced

PASSES = 1000  # each fixes or fills at least one unit, most fix all there is
LARGEST_COEFFICIENT = 1e6  # the solver's tolerance of 1e-6 then stays below one minor unit


def recover(
    problem: Knapsack, dual: Priced, mixed: Integers, core: int, nodes: int
) -> Integers | None:
    """A choice within the room, near the dual's value; None if none was found. Starts from the dual's choice and the mix."""
    score = problem.score(dual.prices)
    found = [_settle(problem, start, dual.prices, score) for start in (dual.option, mixed)]
    option = _best(problem, found)
    if option is None:
        wider = solve_core(problem, repair(problem, mixed, score), dual, 10 * core, 2 * nodes)
        option = None if wider is None else _settle(problem, wider, dual.prices, score)
    if option is None:
        return None
    other = solve_core(problem, option, dual, core, nodes)
    return (
        option
        if other is None
        else _best(problem, [option, _settle(problem, other, dual.prices, score)])
    )


def _settle(problem: Knapsack, option: Integers, prices: Floats, score: Floats) -> Integers | None:
    """The choice repaired and filled; None if the repair does not succeed."""
    option = repair(problem, option, score)
    if not keeps_room(problem, option):
        option = _fall_back(problem, option, score)
    return fill(problem, option, prices) if keeps_room(problem, option) else None


def _best(problem: Knapsack, choices: Sequence[Integers | None]) -> Integers | None:
    """The first of the highest gain among those that were found."""
    return max(
        (c for c in choices if c is not None), key=lambda c: total_gain(problem, c), default=None
    )


def keeps_room(problem: Knapsack, option: Integers) -> bool:
    """Whether the choice keeps every limit, in whole numbers."""
    return bool((problem.used(option) <= problem.room).all())


def _fall_back(problem: Knapsack, option: Integers, score: Floats) -> Integers:
    """Towards keep or towards little use of everything, whichever keeps the limits; the choice as it was if neither does."""
    load = sum(
        part / max(room, 1)
        for part, room in zip(problem.excess, problem.room.tolist(), strict=True)
    )
    least = np.where(np.isfinite(problem.gain), load, np.inf).argmin(axis=1)
    bases = [least] if np.isinf(problem.gain[:, 0]).any() else [np.zeros_like(option), least]
    for base in (repair(problem, start, score) for start in bases):
        if keeps_room(problem, base):
            return revert(problem, option, base, score)
    return option


def total_gain(problem: Knapsack, option: Integers) -> float:
    """Σ gain, rounded once, so that the order of the units does not matter."""
    return math.fsum(problem.gain[np.arange(len(option)), option].tolist())


def repair(problem: Knapsack, option: Integers, score: Floats) -> Integers:
    """Switches units at the least regret per excess removed until no limit is exceeded or no single switch helps."""
    option, rows = option.copy(), np.arange(len(option))
    for _ in range(PASSES):
        over = problem.used(option) - problem.room
        if (over <= 0).all():
            break
        relief = _relief(problem, option, over)
        regret = np.maximum(score[rows, option][:, None] - score, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(relief > 0, (regret + 1e-12 * problem.gain_scale) / relief, np.inf)
        best = rate.argmin(axis=1)
        units = np.flatnonzero(np.isfinite(rate[rows, best]))
        if not len(units):
            break
        units = units[np.argsort(rate[units, best[units]], kind="stable")]
        units = units[: _enough(problem, over, _steps(problem, option, units, best[units]))]
        option[units] = best[units]
    return option


def _relief(problem: Knapsack, option: Integers, over: Integers) -> Floats:
    """How far each single switch lowers the scaled sum of exceeded limits, (n, J)."""
    rows, relief = np.arange(len(option)), np.zeros(problem.gain.shape)
    for r, part in enumerate(problem.excess):
        after = part + (float(over[r]) - part[rows, option])[:, None]
        relief += (max(float(over[r]), 0.0) - np.maximum(after, 0.0)) / problem.scale[r]
    return np.where(np.isfinite(problem.gain), relief, 0.0)


def _steps(problem: Knapsack, option: Integers, units: Integers, target: Integers) -> Integers:
    """Change of use when each unit goes to its target, (m, R)."""
    change = problem.excess[:, units, target] - problem.excess[:, units, option[units]]
    return change.T.astype(np.int64)


def _enough(problem: Knapsack, over: Integers, steps: Integers) -> int:
    """How many of the queued switches to make: until all is repaired, a first limit is kept, or another suffers."""
    after = over + np.cumsum(steps, axis=0)  # (m, R)
    total = (np.maximum(after, 0) / problem.scale).sum(axis=1)
    done = (total == 0) | ((over > 0) & (after <= 0)).any(axis=1)
    done[:-1] |= total[1:] >= total[:-1]
    return int(done.argmax()) + 1 if done.any() else len(steps)


def revert(problem: Knapsack, option: Integers, base: Integers, score: Floats) -> Integers:
    """Takes units back to a base that keeps all limits, the least regretted first, only as many as needed."""
    rows = np.arange(len(option))
    units = np.flatnonzero(option != base)
    regret = (score[rows, option] - score[rows, base])[units]
    units = units[np.argsort(regret, kind="stable")]
    over = problem.used(option) - problem.room
    after = over + np.cumsum(_steps(problem, option, units, base[units]), axis=0)
    count = int((after <= 0).all(axis=1).argmax()) + 1
    result = option.copy()
    result[units[:count]] = base[units[:count]]
    return result


def fill(problem: Knapsack, option: Integers, prices: Floats) -> Integers:
    """Spends what room is left on switches that gain, the largest gain per priced use first."""
    option = option.copy()
    for _ in range(PASSES):
        room = problem.room - problem.used(option)
        units, target = _improving(problem, option, prices, room)
        if not len(units):
            break
        steps = _steps(problem, option, units, target)
        while len(units):  # the first in the queue fits, so each turn takes at least one
            over = (np.cumsum(steps, axis=0) > room).any(axis=1)
            count = int(over.argmax()) if over.any() else len(units)
            option[units[:count]] = target[:count]
            room = room - steps[:count].sum(axis=0)
            left = np.flatnonzero((steps <= room).all(axis=1) & (np.arange(len(units)) >= count))
            units, target, steps = units[left], target[left], steps[left]
    return option


def _improving(
    problem: Knapsack, option: Integers, prices: Floats, room: Integers
) -> tuple[Integers, Integers]:
    """Units with a switch that gains and fits into the room, and that switch; the best rate first."""
    rows = np.arange(len(option))
    gained = problem.gain - problem.gain[rows, option][:, None]
    fits, cost = gained > 0, np.zeros(gained.shape)
    for price, free, part in zip(prices.tolist(), room.tolist(), problem.excess, strict=True):
        change = part - part[rows, option][:, None]
        fits &= change <= free
        cost += price * change
    smallest = 1e-12 * problem.gain_scale
    rate = np.where(fits, gained / np.maximum(cost, smallest), -np.inf)
    target = rate.argmax(axis=1)
    units = np.flatnonzero(fits.any(axis=1))
    return (order := units[np.argsort(-rate[units, target[units]], kind="stable")]), target[order]


def solve_core(
    problem: Knapsack, option: Integers, dual: Priced, size: int, nodes: int
) -> Integers | None:
    """The best choice over the `size` least decided units, the others as they are; None if none was found.

    With a feasible `option`, options whose regret exceeds the gap cannot be part of a better choice and are left out.
    """
    score = problem.score(dual.prices)
    regret = score.max(axis=1, keepdims=True) - score
    gap = dual.value - total_gain(problem, option) if keeps_room(problem, option) else np.inf
    rows = np.arange(len(option))
    near = np.isfinite(regret) & (regret <= gap * (1 + 1e-9))
    near[rows, option] = True
    undecided = np.where(near, regret, np.inf)
    undecided[rows, score.argmax(axis=1)] = np.inf
    rank = np.where(option == score.argmax(axis=1), undecided.min(axis=1), -1.0)
    core = np.flatnonzero(near.sum(axis=1) > 1)
    core = np.sort(core[np.argsort(rank[core], kind="stable")][:size])
    if not len(core):
        return None
    rest = problem.used(option) - _chosen(problem, core, option[core]).sum(axis=0)
    best = _solve_exactly(problem, core, near[core], problem.room - rest, nodes)
    if best is None:
        return None
    result = option.copy()
    result[core] = best
    return result


def _chosen(problem: Knapsack, units: Integers, target: Integers) -> Integers:
    return problem.excess[:, units, target].T.astype(np.int64)  # (m, R)


def _solve_exactly(
    problem: Knapsack, core: Integers, near: NDArray[np.bool_], room: Integers, nodes: int
) -> Integers | None:
    """Branch and bound over the core's options; a limit of nodes rather than of time keeps it reproducible."""
    unit, target = np.nonzero(near)
    use = problem.excess[:, core[unit], target]  # (R, m)
    scale = np.maximum(use.max(axis=1, initial=0.0) / LARGEST_COEFFICIENT, 1.0)
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    one_each = csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))))
    result = milp(
        -problem.gain[core[unit], target] / problem.gain_scale,
        integrality=np.ones(len(unit)),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(use / scale[:, None], -np.inf, room / scale),
            LinearConstraint(one_each, 1, 1),
        ],
        options={"node_limit": nodes, "mip_rel_gap": 1e-9},
    )
    if result.x is None:
        return None
    weight = np.zeros(near.shape)
    weight[unit, target] = result.x
    return weight.argmax(axis=1)
