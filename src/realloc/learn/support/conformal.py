"""Conformal calibration: how extreme a value is among those of held-out logged actions, so that a
nominal level is met.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats


@dataclass(frozen=True)
class ConformalRanks:
    """Values of held-out logged actions in rising order."""

    values: Floats

    def score(self, found: Floats) -> Floats:
        """(1 + how many held-out actions are at least as far) / (n + 1).

        Near 1 in the midst, near 0 far away.

        >>> ConformalRanks(np.array([1.0, 2.0, 3.0])).score(np.array([0.5, 2.5, 9.0])).tolist()
        [1.0, 0.5, 0.25]
        """
        n = len(self.values)
        return (1 + n - np.searchsorted(self.values, found, side="left")) / (n + 1)

    def at(self, level: float) -> float:
        """The value that a fresh logged action exceeds with probability of at most 1 − level.

        0 where too few are known.
        """
        place = int(np.ceil(level * (len(self.values) + 1))) - 1
        return float(self.values[place]) if place < len(self.values) else 0.0
