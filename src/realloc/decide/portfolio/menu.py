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
        shapes = (self.gain.shape, self.use.shape, self.possible.shape)
        fitting = self.gain.ndim == 2 and self.use.ndim == 3
        if not (fitting and shapes[0] == shapes[1][:2] == shapes[2] and self.gain.size):
            raise ConfigError(
                "Expected gain (n, J), use (n, J, R) and possible (n, J) of at least one unit, "
                f"got {shapes[0]}, {shapes[1]} and {shapes[2]}."
            )
        types = (self.gain.dtype, self.use.dtype, self.possible.dtype)
        if types != (np.float64, np.int64, np.bool_):
            raise ConfigError(
                "Expected float64 gains, int64 uses in minor units and a boolean mask, "
                f"got {types[0]}, {types[1]} and {types[2]}."
            )
        infinite = np.argwhere(self.possible & ~np.isfinite(self.gain))
        if len(infinite):
            unit, option = infinite[0].tolist()
            raise ConfigError(
                "Expected a finite gain of every possible option, "
                f"got {self.gain[unit, option]} for option {option} of unit {unit}."
            )
        keep = self.possible[:, 0] & (self.gain[:, 0] == 0)
        if not keep.all():
            raise ConfigError(
                "Expected option 0 to be keep, possible and with gain 0, "
                f"got another in unit {int(keep.argmin())}."
            )
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
