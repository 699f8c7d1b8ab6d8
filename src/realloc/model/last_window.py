"""What a summary needs of the window that was learned from, after the window is gone."""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats
from realloc.logs import Logs

MOST_UNITS = 2_000  # whose last rows are kept


@dataclass(frozen=True, eq=False)
class LastWindow:
    """Its size, what its outcomes are like, and the last row of each unit, or of a sample."""

    today: Logs
    rows: int
    units: int
    periods: int
    # Part of the outcome's variance that the unit's outcome before explains; None: no unit has two.
    outcome_repeats: float | None


def look_back(window: Logs) -> LastWindow:
    """The facts about a window; its rows are sorted by unit and time."""
    last = np.flatnonzero(np.append(~window.same_unit, True))
    kept = last[np.unique(np.linspace(0, len(last) - 1, MOST_UNITS).astype(np.int64))]
    outcome = window.outcome
    return LastWindow(
        today=window.take(kept),
        rows=len(window),
        units=window.unit_count,
        periods=len(np.unique(window.times)),
        outcome_repeats=_repeats(outcome, np.flatnonzero(window.same_unit)),
    )


def _repeats(outcome: Floats, before: np.ndarray) -> float | None:
    if len(before) < 2:
        return None
    pairs = outcome[before], outcome[before + 1]
    if min(values.std() for values in pairs) == 0:
        return None
    return float(np.corrcoef(*pairs)[0, 1] ** 2)
