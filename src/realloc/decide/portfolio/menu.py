"""What each option of every unit would gain and use: the menu from which a portfolio is chosen.

n units, J options, R resources. Option 0 is "keep". Uses are counted in minor units (cents), so
that their sums are exact.
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
