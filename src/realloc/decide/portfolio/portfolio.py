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
from realloc.decide.portfolio.knapsack import Knapsack, to_knapsack
from realloc.decide.portfolio.menu import LARGEST_TOTAL, Menu


@dataclass(frozen=True, kw_only=True)
class ChoiceConfig:
    """How much the integer program decides, and how money is written in messages."""

    core: int = (
        100  # groups of equal units it decides; ten times more while it finds no choice
    )
    nodes: int = 200  # of its search
    digits: int = 2  # minor units per unit of money, 10^digits; only for messages

    def __post_init__(self) -> None:
        if min(self.core, self.nodes) < 1 or self.digits < 0:
            raise ConfigError(f"Expected core and nodes >= 1 and digits >= 0, got {self}.")


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

    @property
    def relative_gap(self) -> float:
        """The gap as a part of the value's size; infinite if the value is 0 and the gap is not."""
        if self.gap == 0:
            return 0.0
        return self.gap / abs(self.value) if self.value else float("inf")


def choose(
    menu: Menu, limits: Integers, names: tuple[str, ...], config: ChoiceConfig | None = None
) -> Choice:
    """The options of highest total gain whose total use of every resource is at most its limit.

    `limits` (R,) are in minor units, `names` (R,) for messages. If keep itself exceeds a limit,
    units give way where it costs least. Of equal options the lowest is taken, of equal units the
    first get the most; the order of the units changes neither value nor bound. Raises `ConfigError`
    if a limit cannot be kept, alone or with the others.

    >>> use = np.array([[[0], [60]], [[0], [60]]])
    >>> menu = Menu(np.array([[0.0, 3.0], [0.0, 5.0]]), use, np.ones((2, 2), bool))
    >>> choice = choose(menu, np.array([100]), ("coupon",))
    >>> choice.option.tolist(), choice.value, choice.used.tolist(), round(choice.bound, 6)
    ([0, 1], 5.0, [60], 7.0)
    """
    config = config or ChoiceConfig()
    limits = _check_limits(menu, limits, names)
    _check_reachable(menu, limits, names, config.digits)
    option = np.where(menu.possible, menu.gain, -np.inf).argmax(axis=1)
    used = menu.used(option)
    if (used <= limits).all():
        value = _value(menu, option)
        return Choice(option, np.zeros(len(limits)), value, value, used)
    problem = to_knapsack(menu, limits)
    solution = _solve(problem, config)
    if solution is None:
        caps = [_money(limit, config.digits) for limit in limits.tolist()]
        listed = ", ".join(f"{name} {cap}" for name, cap in zip(names, caps, strict=True))
        raise ConfigError(
            f"Expected one choice of the allowed moves within all caps ({listed}), but none was "
            "found, although each cap alone can be kept. Raise a cap or open more moves."
        )
    dual, counts = solution
    option = problem.hand_out(counts)
    value = _value(menu, option)
    return Choice(option, dual.prices, value, max(dual.value, value), menu.used(option))


def _solve(problem: Knapsack, config: ChoiceConfig) -> tuple[Priced, Integers] | None:
    """The dual and a choice within the room, or None if there is none or none was found."""
    if (problem.room < 0).any():
        return None
    dual = minimise_dual(problem)
    if dual.value < lowest_gain(problem):
        return None
    size = config.core
    while (counts := solve_core(problem, dual.prices, size, config.nodes)) is None:
        if size >= len(problem.count):
            return None
        size *= 10
    return dual, counts


def _value(menu: Menu, option: Integers) -> float:
    """Σ gain, rounded once, so that the order of the units does not matter."""
    return math.fsum(menu.gain[np.arange(len(option)), option].tolist())


def _check_limits(menu: Menu, limits: Integers, names: tuple[str, ...]) -> Integers:
    limits = np.asarray(limits)
    resources = menu.use.shape[2]
    if (
        limits.shape != (resources,)
        or len(names) != resources
        or limits.dtype.kind not in "iu"
    ):
        raise ConfigError(
            f"Expected {resources} whole limits in minor units and as many names, one per resource "
            f"of the menu, got {limits.tolist()} and {names}."
        )
    if (np.abs(limits.astype(np.float64)) > LARGEST_TOTAL).any():
        raise ConfigError(
            f"Expected limits up to {LARGEST_TOTAL} minor units, got {limits.tolist()}. "
            "Leave out caps that do not bind."
        )
    return limits.astype(np.int64)


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
