"""The long layout (one row per unit, date and channel) turned into one row per unit and date."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Integers
from realloc.logs.reading.columns import NO_TIME
from realloc.logs.reading.intake import (
    POSITION,
    WRONG,
    CompactRows,
    Intake,
    RowFlags,
    check_split,
    say,
)


@dataclass(frozen=True)
class Pivoted:
    """Usable wide rows, and for each long row handed in where it went."""

    rows: CompactRows
    first: Integers  # the first long row of each unit and date, which come in this order
    day: Integers  # each long row's place among these
    channel: Integers  # each long row's channel, −1 where it is not listed


def pivot(intake: Intake, rows: CompactRows) -> Pivoted:
    """Spread spends over channel columns.

    Other columns must agree within a day; a blank takes the first value given.
    """
    schema = intake.plan.schema
    channel_of_row = _channel_index(intake, rows)
    order = np.lexsort((channel_of_row, rows.times, rows.units))
    channel = channel_of_row[order]
    rows = rows.take(order)
    known = channel >= 0
    changes = (np.diff(rows.units) != 0) | (np.diff(rows.times) != 0)
    new_day = (rows.units < 0) | (rows.times == NO_TIME)  # such rows stand alone
    new_day[:1] = True
    new_day[1:] |= changes
    same_channel = np.append(False, np.diff(channel) == 0)
    repeated = same_channel & ~new_day & known
    flags = RowFlags(intake, None, rows.units, rows.times)
    flags.flag("repeated_channel", repeated, None)
    group = np.cumsum(new_day) - 1
    spend = rows.columns[str(schema.spend_column)]
    starts = np.flatnonzero(new_day)
    spends = np.zeros((len(schema.channels), len(starts)))
    spends[channel[known], group[known]] = spend[known]
    wide = CompactRows(rows.units[new_day], rows.times[new_day], {})
    wide.columns.update(zip(schema.channels, spends, strict=True))
    for name, values in rows.columns.items():
        if name not in (schema.spend_column, schema.channel_column, WRONG):
            wide.columns[name] = _one_per_day(flags, name, values, group, starts)
    first = np.minimum.reduceat(order, starts)
    place = np.argsort(np.argsort(first))
    wrong = rows.columns[WRONG] | ~known | ~flags.right
    wrong_days = [np.logical_or.reduceat(wrong, starts)]
    if intake.forgive:
        wide.columns[POSITION] = place
    day = np.empty_like(group)
    day[order] = place[group]
    usable = check_split(RowFlags(intake, None, wide.units, wide.times, wrong_days), wide)
    return Pivoted(usable, np.sort(first), day, channel_of_row)


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
    flags: RowFlags, name: str, values: NDArray[Any], group: Integers, starts: Integers
) -> NDArray[Any]:
    """The first value given in each group; rows that give another one are flagged."""
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    else:
        missing = values == NO_TIME if values.dtype == np.int64 else values < 0
    given = np.flatnonzero(~missing)
    first = starts.copy()
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
