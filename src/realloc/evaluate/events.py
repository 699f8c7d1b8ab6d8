"""Events and controls: rows whose shares differ from their unit's previous row,
and rows that held theirs.

‖Δp‖₁ is the distance to the shares of the unit's previous row. A unit's first row is neither an
event nor a control.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Floats, Mask, Rows
from realloc.logs import Logs
from realloc.logs.split import require_logs

TOLERANCE = 1e-6  # shares that differ by less are the same up to rounding
# Where fewer rows hold their shares, as with continuous spends, those that moved least stand for
# them: a fifth of the rows, or up to half where so many move a tiny part of the budget only.
FEWEST_HELD = 0.05
LEAST_MOVED = 0.2
SMALL_MOVE = 0.02  # part of the budget, never more
TINY_MOVE = 0.005


@dataclass(frozen=True, eq=False)
class Events:
    """For every row of a log, how far it moved from its unit's previous row."""

    previous: Rows  # (n,) position of the unit's previous row, −1 for its first
    moved_by: Floats  # (n,) ‖Δp‖₁, NaN where there is nothing to compare with
    tolerance: float

    @property
    def is_event(self) -> Mask:
        """Rows that moved."""
        return self.moved_by > self.tolerance

    @property
    def is_control(self) -> Mask:
        """Rows that held their shares."""
        return self.moved_by <= self.tolerance


def find_events(logs: Logs, tolerance: float = TOLERANCE) -> Events:
    """Compare every row with the row before it of the same unit."""
    require_logs(logs)
    if not 0 <= tolerance < 2:
        raise ConfigError(
            f"Expected a tolerance from 0 to below 2 (the largest ‖Δp‖₁), got {tolerance}."
        )
    units = logs.unit_codes
    times = logs.times
    order = np.lexsort((times, units))
    later = order[1:]
    earlier = order[:-1]
    same_unit = units[later] == units[earlier]
    twice = np.flatnonzero(same_unit & (times[later] == times[earlier]))
    if len(twice):
        row = int(later[twice[0]])
        raise LogError(
            f"Expected one row per unit and time, got two of "
            f"{logs.units[int(units[row])].as_py()!r} on {times[row]}. "
            "Which of them came first cannot be known: leave one out or sum them up."
        )
    previous = np.full(len(logs), -1, dtype=np.intp)
    previous[later[same_unit]] = earlier[same_unit]
    moved_by = np.abs(logs.shares - logs.shares[previous]).sum(axis=1)
    return Events(previous, np.where(previous >= 0, moved_by, np.nan), tolerance)


def with_small_moves(events: Events, rows: Mask) -> Events:
    """Where hardly any of `rows` held its shares exactly, take the smallest moves for none."""
    moved_by = events.moved_by[rows & np.isfinite(events.moved_by)]
    if not len(moved_by) or (moved_by <= TOLERANCE).mean() >= FEWEST_HELD:
        return events
    least, middle = np.quantile(moved_by, (LEAST_MOVED, 0.5)).tolist()
    tolerance = max(least, min(middle, 2 * TINY_MOVE))
    return replace(events, tolerance=min(tolerance, 2 * SMALL_MOVE))


def at_previous(logs: Logs, events: Events, rows: Rows | None = None) -> Logs:
    """Rows as they stood before the decision: their own state and budget,
    split by the previous shares.

    `rows`: positions with a previous row; all events unless given. Outcomes are left out: no policy
    can know them.
    """
    rows = np.flatnonzero(events.is_event) if rows is None else rows
    before = events.previous[rows]
    if np.any(before < 0):
        raise LogError(
            "Expected rows that have a previous row of their unit, got the first row of a unit."
        )
    schema = logs.schema
    table = logs.table.take(pa.array(rows)).drop_columns(
        [
            name
            for name in (schema.outcome, *schema.guardrails)
            if name in logs.table.column_names
        ]
    )
    amounts = logs.shares[before]
    if schema.budget is None:
        amounts = amounts * logs.budget[rows][:, None]
    for k, channel in enumerate(schema.channels):
        place = table.column_names.index(channel)
        table = table.set_column(place, channel, pa.array(amounts[:, k]))
    return replace(logs, table=table)
