"""How strong a hidden cause must be to undo a gain.

Robustness r: the part that a cause nobody recorded would have to explain of what is left of the
outcome, and as much of what is left of the move, to make the gain zero.

√(r · r / (1 − r)) · offset = gain   ⟺   r = ½ (√(f⁴ + 4f²) − f²),   f = gain / offset
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats, Rows
from realloc.decide.conservative import OutcomeTerm

# How much farther than an average single moves may be off: what a cause does differs from state to
# state. Chosen on tuning worlds (docs/decisions/0028).
SINGLE = 2.0


def offsets(
    outcomes: tuple[OutcomeTerm, ...], rows: Rows, start: Floats, end: Floats
) -> Floats:
    """How far a cause of strength 1 may set the objective off, one end (a, K) per row: (a,).

    NaN where the model does not know.
    """
    total = np.zeros(len(rows))
    for term in outcomes:
        if term.weight:
            if term.hidden is None:
                return np.full(len(rows), np.nan)
            total += abs(term.weight) * term.hidden(rows, start, end[:, None])[:, 0]
    return SINGLE * total


def robustness_of(gain: Floats, offset: Floats) -> Floats:
    """r of gains (n,) that a cause of strength 1 may set off by `offset` (n,); 0 without a gain.

    >>> robustness_of(np.array([1.0, 0.0]), np.array([2.0, 0.0])).round(2).tolist()
    [0.39, 0.0]
    """
    squared = np.square(np.divide(gain, offset, out=np.zeros_like(gain), where=offset > 0))
    value = (np.sqrt(np.square(squared) + 4 * squared) - squared) / 2
    return np.where(np.isnan(offset), np.nan, np.where(gain > 0, value, 0.0))


@dataclass(frozen=True)
class RobustnessSum:
    """Sums over moved rows that say how strong a cause must be to undo the total gain.

    By Cauchy and Schwarz a cause of strength 1 sets it off by at most √(n Σ offset²) of average
    offsets; sums of parts add up.
    """

    rows: int = 0
    gain: float = 0.0
    squared: float = 0.0  # Σ offset²

    @classmethod
    def of(cls, gain: Floats, robustness: Floats) -> "RobustnessSum":
        """Of rows with gains (n,) and robustness (n,); only those that gain count."""
        known = (gain > 0) & (robustness > 0)
        own = offset_of(gain[known], robustness[known])
        gains = float(gain[known].sum())
        return cls(int(known.sum()), gains, float(np.square(own).sum()))

    def __add__(self, other: "RobustnessSum") -> "RobustnessSum":
        rows = self.rows + other.rows
        return RobustnessSum(rows, self.gain + other.gain, self.squared + other.squared)

    @property
    def offset(self) -> float:
        """How far a cause of strength 1 may set the total off."""
        return float(np.sqrt(self.rows * self.squared)) / SINGLE

    @property
    def robustness(self) -> float:
        """Of the total gain."""
        return float(robustness_of(np.array([self.gain]), np.array([self.offset]))[0])


def offset_of(gain: Floats, robustness: Floats) -> Floats:
    """How far a cause of strength 1 may set gains (n,) of this robustness off: gain / f."""
    return gain * np.sqrt(1 - robustness) / robustness
