"""The long layout (one row per unit, date and channel) turned into one row per unit and date."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Integers
from realloc.logs.reading.columns import NO_TIME
from realloc.logs.reading.intake import CompactRows, Intake, RowFlags, check_split, say


def pivot(intake: Intake, rows: CompactRows) -> CompactRows:
    """Spread spends over channel columns.

    Other columns must agree within a day; a blank takes the first value given.
    """
    schema = intake.plan.schema
    if not len(rows):
        return rows
    channel = _channel_index(intake, rows)
    order = np.lexsort((channel, rows.times, rows.units))
    channel = channel[order]
    rows = rows.take(order)
    known = channel >= 0
    changes = (np.diff(rows.units) != 0) | (np.diff(rows.times) != 0)
    new_day = np.append(True, changes)
    same_channel = np.append(False, np.diff(channel) == 0)
    repeated = same_channel & ~new_day & known
    flags = RowFlags(intake, None, rows.units, rows.times)
    flags.flag("repeated_channel", repeated, None)
    group = np.cumsum(new_day) - 1
    spend = rows.columns[str(schema.spend_column)]
    spends = np.zeros((len(schema.channels), new_day.sum()))
    spends[channel[known], group[known]] = spend[known]
    wide = CompactRows(rows.units[new_day], rows.times[new_day], {})
    wide.columns.update(zip(schema.channels, spends, strict=True))
    for name, values in rows.columns.items():
        if name not in (schema.spend_column, schema.channel_column):
            wide.columns[name] = _one_per_day(flags, name, values, group)
    return check_split(RowFlags(intake, None, wide.units, wide.times), wide)


def _channel_index(intake: Intake, rows: CompactRows) -> Integers:
    """The place of each row's channel in the schema, −1 where it is not listed."""
    column = str(intake.plan.schema.channel_column)
    words = intake.words[column].values
    listed = [] if words is None else words.to_pylist()
    place = {name: k for k, name in enumerate(intake.plan.schema.channels)}
    places = [place.get(word, -1) for word in listed]
    index = np.array([*places, -1])[rows.columns[column]]
    unlisted = [repr(word) for word in listed if word not in place]
    flags = RowFlags(intake, None, rows.units, rows.times)
    flags.flag("unlisted_channel", index < 0, column, ", ".join(unlisted[:5]) or "nothing")
    return index


def _one_per_day(
    flags: RowFlags, name: str, values: NDArray[Any], group: Integers
) -> NDArray[Any]:
    """The first value given in each group; rows that give another one are flagged."""
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    else:
        missing = values == NO_TIME if values.dtype == np.int64 else values < 0
    given = np.flatnonzero(~missing)
    first = np.searchsorted(group, np.arange(int(group[-1]) + 1))
    first[group[given][::-1]] = given[
        ::-1
    ]  # the last write wins, so the first given row stays
    result = values[first]
    differs = ~missing & (values != result[group])
    if differs.any():
        row = int(np.argmax(differs))
        both = f"{say(result[group[row]])} and {say(values[row])}"
        shown = "two different ones" if values.dtype.kind == "i" else both
        flags.flag("differs_within_day", differs, name, shown)
    return result
