"""One option per unit under caps over all units: max Σᵢ gain[i, oᵢ] subject to Σᵢ use[i, oᵢ] ≤ limits.

Caps are totals per channel (a coupon pool) or the money moved per day. The Lagrangian dual prices the capped resources
and bounds what any choice can gain; the choice it leads to is then made exactly feasible in whole minor units.
"""

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import LARGEST_MINOR, Floats, Integers
from realloc.decide.portfolio.dual import Knapsack, Priced, lowest_gain, minimise_dual, to_knapsack
from realloc.decide.portfolio.menu import (
    LARGEST_TOTAL,
    Menu,
    find_option,
    menu_of_traces,
    stack_menus,
)
from realloc.decide.portfolio.primal import recover

__all__ = [
    "Choice",
    "ChoiceConfig",
    "Menu",
    "choose",
    "find_option",
    "menu_of_traces",
    "stack_menus",
]


@dataclass(frozen=True, kw_only=True)
class ChoiceConfig:
    """How long to look for prices and how many undecided units to solve exactly."""

    rounds: int = 300  # cutting planes
    tolerance: float = 1e-7  # of the prices' optimum, as a part of the summed ranges of gain
    core: int = 40  # units solved exactly at the end
    nodes: int = 200  # of that exact search
    digits: int = 2  # minor units per unit of money, 10^digits; only for messages

    def __post_init__(self) -> None:
        if min(self.rounds, self.core, self.nodes, self.digits) < 0 or not self.tolerance > 0:
            raise ConfigError(
                f"Expected rounds, core, nodes and digits >= 0 and a tolerance > 0, got {self}."
            )


@dataclass(frozen=True, eq=False)
class Choice:
    """One option per unit; its gain, what it uses, and a bound that no choice within the limits exceeds."""

    option: Integers  # (n,)
    prices: Floats  # (R,) gain lost per minor unit by which a limit is tighter; 0 where it does not bind
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

    `limits` (R,) in minor units, `names` (R,) for messages. If every unit's own best option keeps the limits, these are
    the answer. If keep itself exceeds a limit, units give way where it costs least. Of equal options the lowest is
    taken, of equal units the first get the most; the order of the units changes neither value nor bound.
    Raises `ConfigError` if a limit cannot be kept, alone or together with the others.

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
    if (_used(menu, option) <= limits).all():
        value = _value(menu, option)
        return Choice(option, np.zeros(len(limits)), value, value, _used(menu, option))
    order = canonical_order(menu)
    ordered = Menu(menu.gain[order], menu.use[order], menu.possible[order])
    found = _solve(to_knapsack(ordered, limits), config)
    if found is None:
        raise ConfigError(_no_choice(limits, names, config.digits))
    dual, sorted_option = found
    option[order] = _first_come(ordered, sorted_option)
    value = _value(menu, option)
    return Choice(option, dual.prices, value, max(dual.value, value), _used(menu, option))


def _solve(problem: Knapsack, config: ChoiceConfig) -> tuple[Priced, Integers] | None:
    """Prices and a choice within the room, or None if there is none or none was found."""
    if (problem.room < 0).any():
        return None
    dual, mixed = minimise_dual(problem, config.rounds, config.tolerance)
    if dual.value < lowest_gain(problem):
        return None
    option = recover(problem, dual, mixed, config.core, config.nodes)
    return None if option is None else (dual, option)


def canonical_order(menu: Menu) -> Integers:
    """An order of the units (n,) by what they hold alone, so that it is the same however they came; equal ones as they came.

    By a hash of the row (splitmix64 over its bits): a comparison of whole rows would cost more than the prices.
    """
    gain = np.where(menu.possible, menu.gain, -np.inf).view(np.uint64)
    key = np.zeros(len(gain), np.uint64)
    for column in (*gain.T, *menu.use.reshape(len(gain), -1).view(np.uint64).T):
        key ^= column
        key += np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            key ^= key >> np.uint64(shift)
            key *= np.uint64(factor)
        key ^= key >> np.uint64(31)
    return np.argsort(key, kind="stable")


def _first_come(menu: Menu, option: Integers) -> Integers:
    """Hands the options of equal units, which are neighbours, out again: the first gets the one that gains most."""
    gain = np.where(menu.possible, menu.gain, -np.inf)
    differs = (gain[1:] != gain[:-1]).any(axis=1) | (menu.use[1:] != menu.use[:-1]).any(axis=(1, 2))
    group = np.concatenate([[0], np.cumsum(differs)])
    return option[np.lexsort((option, -gain[np.arange(len(option)), option], group))]


def _value(menu: Menu, option: Integers) -> float:
    return math.fsum(menu.gain[np.arange(len(option)), option].tolist())


def _used(menu: Menu, option: Integers) -> Integers:
    return menu.use[np.arange(len(option)), option].sum(axis=0)


def _check_limits(menu: Menu, limits: Integers, names: tuple[str, ...]) -> Integers:
    limits, resources = np.asarray(limits), menu.use.shape[2]
    if limits.shape != (resources,) or len(names) != resources or limits.dtype.kind not in "iu":
        raise ConfigError(
            f"Expected {resources} whole limits in minor units and as many names, one per resource of the menu, "
            f"got {limits.tolist()} and {names}."
        )
    if (np.abs(limits.astype(np.float64)) > LARGEST_TOTAL).any():
        raise ConfigError(
            f"Expected limits up to {LARGEST_TOTAL} minor units, got {limits.tolist()}. Leave out caps that do not bind."
        )
    return limits.astype(np.int64)


def _check_reachable(menu: Menu, limits: Integers, names: tuple[str, ...], digits: int) -> None:
    """Every cap must hold when all units use the least of its resource that they can."""
    least = np.where(menu.possible[:, :, None], menu.use, LARGEST_MINOR).min(axis=1).sum(axis=0)
    for name, limit, reached in zip(names, limits.tolist(), least.tolist(), strict=True):
        if reached > limit:
            raise ConfigError(
                f"Expected at most {_money(limit, digits)} of {name} over all units, but the least that the allowed "
                f"moves reach is {_money(reached, digits)}. Raise the cap or open more moves."
            )


def _no_choice(limits: Integers, names: tuple[str, ...], digits: int) -> str:
    caps = ", ".join(
        f"{name} {_money(limit, digits)}"
        for name, limit in zip(names, limits.tolist(), strict=True)
    )
    return (
        f"Expected one choice of the allowed moves within all caps ({caps}), but none was found, although each cap alone "
        f"can be kept. Raise a cap or open more moves."
    )


def _money(minor: int, digits: int) -> str:
    return f"{Decimal(minor).scaleb(-digits):,.{digits}f}"
