"""What each option of every unit would gain and use, as a multiple-choice knapsack: equal units
grouped, impossible options left out.

n units, J options, R resources. Option 0 is "keep". Uses are counted in minor units (cents), so
that their sums are exact.

g gains, e use above the unit's least possible use, b limit above the sum of these least uses.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import LARGEST_MINOR, Floats, Integers, Mask

LARGEST_TOTAL = 2**62  # a sum over units and a limit can still be compared in int64


@dataclass(frozen=True, eq=False)
class Menu:
    """Gains and uses of every option of every unit."""

    gain: Floats  # (n, J) predicted or lower-bound gain; option 0 gains 0
    use: Integers  # (n, J, R) minor units; may be negative
    possible: Mask  # (n, J) false where an option is only padding

    def __post_init__(self) -> None:
        largest = np.abs(self.use.astype(np.float64)).max(axis=1)  # (n, R)
        single = largest.max(initial=0.0)
        total = largest.sum(axis=0).max(initial=0.0)
        if single > LARGEST_MINOR or total > LARGEST_TOTAL:
            raise ConfigError(
                f"Expected uses up to {LARGEST_MINOR} minor units each and {LARGEST_TOTAL} over "
                f"all units, got up to {single:.3g} and {total:.3g}. "
                "Count in a larger unit of money."
            )

    def used(self, option: Integers) -> Integers:
        """Total use of one option per unit, (R,)."""
        return self.use[np.arange(len(option)), option].sum(axis=0)


@dataclass(frozen=True, eq=False)
class Knapsack:
    """G groups of equal units, with uses counted from each unit's least: nothing is negative."""

    gain: Floats  # (G, J), −inf where not possible
    excess: Integers  # (G, J, R)
    room: Integers  # (R,); negative if no choice exists
    count: Integers  # (G,) units of each group
    group: Integers  # (n,) of each unit
    gain_scale: float  # mean over groups of the range of gains
    scale: Floats  # (R,) mean over groups of the range of uses

    def used(self, counts: Integers) -> Integers:
        """Total excess if so many units of each group take each option (G, J): (R,)."""
        return np.tensordot(counts, self.excess, axes=2)

    def score(self, prices: Floats) -> Floats:
        """gᵢⱼ − λ·eᵢⱼ, (G, J)."""
        score = self.gain.copy()
        for r in np.flatnonzero(prices):
            score -= prices[r] * self.excess[:, :, r]
        return score

    def hand_out(self, counts: Integers) -> Integers:
        """Options (n,) from how many units of a group take each (G, J).

        Of equal units the first get the option that gains most.
        """
        order = np.argsort(-self.gain, axis=1, kind="stable")
        options = np.repeat(
            order.ravel(), np.take_along_axis(counts, order, axis=1).ravel()
        )
        option = np.empty_like(options)
        option[np.argsort(self.group, kind="stable")] = options
        return option


def to_knapsack(menu: Menu, limits: Integers) -> Knapsack:
    """Group equal units, and leave out options that no choice within the limits contains."""
    n = len(menu.gain)
    # Groups are sorted by what their units hold, so the order of the units changes nothing.
    gain = np.where(menu.possible, menu.gain, -np.inf)
    table = np.concatenate([gain.view(np.int64), menu.use.reshape(n, -1)], axis=1)
    rows = np.ascontiguousarray(table).view(f"V{table.shape[1] * 8}")[:, 0]
    _, first, group, count = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    gain = gain[first]
    use = menu.use[first]
    for j in range(1, gain.shape[1]):  # of equal options the lowest is taken
        equal = (gain[:, :j] == gain[:, [j]]) & (use[:, :j] == use[:, [j]]).all(axis=2)
        gain[equal.any(axis=1), j] = -np.inf
    # An option is out if it exceeds a limit even with every other unit at its least use. That may
    # raise the least use of another resource, so this repeats until nothing changes.
    while True:
        possible = np.isfinite(gain)
        least = np.where(possible[:, :, None], use, LARGEST_MINOR).min(axis=1)  # (G, R)
        room = limits - count @ least
        reach = least + np.minimum(room, LARGEST_MINOR)
        fits = possible & (use <= reach[:, None]).all(axis=2)
        if (room < 0).any() or (fits == possible).all():
            break
        if not fits.any(axis=1).all():
            room = np.full_like(room, -1)
            break
        gain = np.where(fits, gain, -np.inf)
    excess = np.where(possible[:, :, None], use - least[:, None], 0)
    spread = gain.max(axis=1) - np.where(possible, gain, np.inf).min(axis=1)
    scale = excess.max(axis=1).mean(axis=0)
    return Knapsack(
        gain=gain,
        excess=excess,
        room=room,
        count=count,
        group=group,
        gain_scale=float(spread.mean()) or 1.0,
        scale=np.where(scale > 0, scale, 1.0),
    )
