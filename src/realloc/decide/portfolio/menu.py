"""The options of every unit with what each would gain and use: the menu from which a portfolio is chosen.

n units, J options, R resources. Option 0 is "keep". Resources are counted in minor units (cents), so that sums are exact.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.base.simplex import LARGEST_MINOR, Floats, Integers

Money = Callable[
    [Floats], Integers
]  # shares (n, K) → minor units (n, K), each unit's budget already inside
LARGEST_TOTAL = 2**62  # a sum over units and a limit can still be compared in int64


@dataclass(frozen=True, eq=False)
class Menu:
    """What every option of every unit would gain and use."""

    gain: Floats  # (n, J) predicted or lower-bound gain; option 0 gains 0
    use: Integers  # (n, J, R) minor units; may be negative
    possible: NDArray[np.bool_]  # (n, J) false where an option is only padding

    def __post_init__(self) -> None:
        _check_shapes(self)
        bad = self.possible & ~np.isfinite(self.gain)
        if bad.any():
            unit, option = np.argwhere(bad)[0].tolist()
            raise ConfigError(
                f"Expected a finite gain of every possible option, got {self.gain[unit, option]} "
                f"for option {option} of unit {unit}."
            )
        keep = self.possible[:, 0] & (self.gain[:, 0] == 0)
        if not keep.all():
            raise ConfigError(
                f"Expected option 0 to be keep, possible and with gain 0, got another in unit {int(keep.argmin())}."
            )
        _check_sizes(self)


def _check_shapes(menu: Menu) -> None:
    gain, use, possible = menu.gain, menu.use, menu.possible
    if (
        gain.ndim != 2
        or possible.shape != gain.shape
        or use.ndim != 3
        or use.shape[:2] != gain.shape
        or not gain.size
    ):
        raise ConfigError(
            f"Expected gain (n, J), use (n, J, R) and possible (n, J) of at least one unit, "
            f"got {gain.shape}, {use.shape} and {possible.shape}."
        )
    if use.dtype != np.int64 or possible.dtype != np.bool_ or gain.dtype != np.float64:
        raise ConfigError(
            f"Expected float64 gains, int64 uses in minor units and a boolean mask, "
            f"got {gain.dtype}, {use.dtype} and {possible.dtype}."
        )


def _check_sizes(menu: Menu) -> None:
    """No sum over units may leave int64, and no single use the integers that float64 holds."""
    largest = np.maximum(
        menu.use.max(axis=1).astype(np.float64), -menu.use.min(axis=1).astype(np.float64)
    )  # (n, R)
    single, total = largest.max(initial=0.0), largest.sum(axis=0).max(initial=0.0)
    if single > LARGEST_MINOR or total > LARGEST_TOTAL:
        raise ConfigError(
            f"Expected uses up to {LARGEST_MINOR} minor units each and {LARGEST_TOTAL} over all units, "
            f"got up to {single:.3g} and {total:.3g}. Count in a larger unit of money."
        )


def menu_of_traces(
    points: Floats, gain: Floats, money: Money, channels: Sequence[int], moved: bool = False
) -> Menu:
    """One option per point of a search trace: stop after 0 (keep), 1, 2, … transfers.

    points: (n, J, K) shares along the trace, `Trace.points`; `points[:, 0]` is where the budget lies today.
    gain: (n, J) cumulative gain of stopping at each point; `gain[:, 0]` is 0.
    money: turns shares (n, K) into minor units (n, K), as the budget will really be spent, for example
        `lambda shares: round_money(shares, budget)`. It must return whole units that sum to the same in every row.
    channels: columns of the capped channels; the money in each is one resource, in this order.
    moved: adds a last resource, the money that changes hands, Σ max(0, now − today), to cap a day's moved share.

    Points that repeat the one before (the search had stopped) are marked as not possible. A greedy trace goes where gain
    is, which is often into the capped channel. So that units can also leave it, search again with the gain reduced by a
    price on that channel's money and join both with `stack_menus`; gains stay those without the price.

    >>> points = np.array([[[0.5, 0.5], [0.4, 0.6], [0.4, 0.6]]])
    >>> menu = menu_of_traces(points, np.array([[0.0, 2.0, 2.0]]), lambda p: np.rint(p * 1000).astype(int), [1], True)
    >>> menu.use.tolist(), menu.possible.tolist()
    ([[[500, 0], [600, 100], [600, 100]]], [[True, True, False]])
    """
    n, J, K = points.shape
    wrong = [k for k in channels if not 0 <= k < K]
    if gain.shape != (n, J) or wrong:
        raise ConfigError(
            f"Expected gains {(n, J)} as the points and channels from 0 to {K - 1}, got {gain.shape} and {list(channels)}."
        )
    columns = list(channels)
    use = np.empty((n, J, len(columns) + moved), np.int64)
    today = money(points[:, 0])
    for j in range(J):
        then = money(points[:, j])
        use[:, j, : len(columns)] = then[:, columns]
        if moved:
            use[:, j, -1] = np.maximum(then - today, 0).sum(axis=1)
    possible = np.ones((n, J), np.bool_)
    possible[:, 1:] = (points[:, 1:] != points[:, :-1]).any(axis=-1)
    return Menu(gain.astype(np.float64), use, possible)


def stack_menus(menus: Sequence[Menu]) -> Menu:
    """Several menus of the same units as one: keep, then the first menu's options from 1 on, then the second's, …

    `find_option` leads from a chosen option back to the menu and the option in it.
    """
    keep = menus[0].use[:, 0]
    for place, menu in enumerate(menus):
        if menu.use.shape[::2] != menus[0].use.shape[::2] or not np.array_equal(
            menu.use[:, 0], keep
        ):
            raise ConfigError(
                f"Expected menus with the same units, resources and use of keep, menu {place} differs."
            )
    first, rest = menus[0], menus[1:]
    return Menu(
        np.concatenate([first.gain, *(menu.gain[:, 1:] for menu in rest)], axis=1),
        np.concatenate([first.use, *(menu.use[:, 1:] for menu in rest)], axis=1),
        np.concatenate([first.possible, *(menu.possible[:, 1:] for menu in rest)], axis=1),
    )


def find_option(option: Integers, menus: Sequence[Menu]) -> tuple[Integers, Integers]:
    """Which of the stacked menus a chosen option came from, (n,), and which option of that menu it is, (n,)."""
    ends = np.cumsum(
        [menu.gain.shape[1] - 1 for menu in menus]
    )  # the last option of each menu in the stack
    place = np.searchsorted(ends, option)
    begins = np.concatenate([[0], ends[:-1]])
    return place, option - begins[place]
