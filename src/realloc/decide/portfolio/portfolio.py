"""One option per unit under caps over all units: max Σᵢ gain[i, oᵢ] s.t. Σᵢ use[i, oᵢ] ≤ limits.

Caps are totals per channel (a coupon pool) or the money moved per day. The Lagrangian dual prices
the capped resources and bounds what any choice can gain; an integer program then settles the units
that these prices leave undecided, exactly in whole minor units.
"""

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import LARGEST_MINOR, Floats, Integers
from realloc.decide.portfolio.core import solve_core
from realloc.decide.portfolio.dual import Priced, lowest_gain, minimise_dual
from realloc.decide.portfolio.knapsack import Knapsack, Menu, to_knapsack

# Groups of equal units that the integer program decides; ten times more while it finds no choice.
CORE = 100
NODES = 200  # of its search


@dataclass(frozen=True, eq=False)
class Choice:
    """One option per unit; its gain, its use, and a bound on the gain of every possible choice."""

    option: Integers  # (n,)
    prices: Floats  # (R,) gain lost per minor unit that a limit is tighter; 0 if it does not bind
    value: float  # Σ gain of the chosen options
    bound: float  # Lagrangian upper bound
    used: Integers  # (R,) minor units, never above the limits

    @property
    def gap(self) -> float:
        """Gain that a better choice could have at most on top."""
        return self.bound - self.value


def choose(menu: Menu, limits: Integers, names: tuple[str, ...], digits: int = 2) -> Choice:
    """The options of highest total gain whose total use of every resource is at most its limit.

    `limits` (R,) are in minor units; `names` (R,) and `digits` (of money) are for messages. If keep
    itself exceeds a limit, units give way where it costs least. Of equal options the lowest is
    taken, of equal units the first get the most; the order of the units changes neither value nor
    bound. Raises `ConfigError` if a limit cannot be kept, alone or with the others.

    >>> use = np.array([[[0], [60]], [[0], [60]]])
    >>> menu = Menu(np.array([[0.0, 3.0], [0.0, 5.0]]), use, np.ones((2, 2), bool))
    >>> choice = choose(menu, np.array([100]), ("coupon",))
    >>> choice.option.tolist(), choice.value, choice.used.tolist(), round(choice.bound, 6)
    ([0, 1], 5.0, [60], 7.0)
    """
    _check_reachable(menu, limits, names, digits)
    option = np.where(menu.possible, menu.gain, -np.inf).argmax(axis=1)
    used = menu.used(option)
    if (used <= limits).all():
        value = _value(menu, option)
        return Choice(option, np.zeros(len(limits)), value, value, used)
    problem = to_knapsack(menu, limits)
    solution = _solve(problem)
    if solution is None:
        caps = [_money(limit, digits) for limit in limits.tolist()]
        listed = ", ".join(f"{name} {cap}" for name, cap in zip(names, caps, strict=True))
        raise ConfigError(
            f"Expected one choice of the allowed moves within all caps ({listed}), but none was "
            "found, although each cap alone can be kept. Raise a cap or open more moves."
        )
    dual, counts = solution
    option = problem.hand_out(counts)
    value = _value(menu, option)
    return Choice(option, dual.prices, value, max(dual.value, value), menu.used(option))


def _solve(problem: Knapsack) -> tuple[Priced, Integers] | None:
    """The dual and a choice within the room, or None if there is none or none was found."""
    if (problem.room < 0).any():
        return None
    dual = minimise_dual(problem)
    if dual.value < lowest_gain(problem):
        return None
    size = CORE
    while (counts := solve_core(problem, dual.prices, size, NODES)) is None:
        if size >= len(problem.count):
            return None
        size *= 10
    return dual, counts


def _value(menu: Menu, option: Integers) -> float:
    """Σ gain, rounded once, so that the order of the units does not matter."""
    return math.fsum(menu.gain[np.arange(len(option)), option].tolist())


def _check_reachable(
    menu: Menu, limits: Integers, names: tuple[str, ...], digits: int
) -> None:
    """Every cap must hold when all units use the least of its resource that they can."""
    least = (
        np.where(menu.possible[:, :, None], menu.use, LARGEST_MINOR).min(axis=1).sum(axis=0)
    )
    for name, limit, reached in zip(names, limits.tolist(), least.tolist(), strict=True):
        if reached > limit:
            raise ConfigError(
                f"Expected at most {_money(limit, digits)} of {name} over all units, but the least "
                f"that the allowed moves reach is {_money(reached, digits)}. "
                "Raise the cap or open more moves."
            )


def _money(minor: int, digits: int) -> str:
    return f"{Decimal(minor).scaleb(-digits):,.{digits}f}"
