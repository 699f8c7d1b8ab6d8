"""The long layout (one row per unit, date and channel) turned into one row per unit and date."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.logs.checks.rules import First
from realloc.logs.reading.columns import NO_TIME
from realloc.logs.reading.intake import Intake, Rows, Spot, check_split, say


def pivot(intake: Intake, rows: Rows) -> Rows:
    """Spread spends over channel columns. Other columns must agree within a day; blanks take the first given value."""
    schema = intake.plan.schema
    if not len(rows) or any(
        code in {"missing_unit", "missing_time", "bad_time"} for code, _ in intake.tally.counts
    ):
        return rows.take(np.zeros(len(rows), dtype=bool))
    channel = _channel_index(intake, rows)
    order = np.lexsort((channel, rows.times, rows.units))
    rows, channel = rows.take(order), channel[order]
    same_day = np.append(False, (np.diff(rows.units) == 0) & (np.diff(rows.times) == 0))
    _refuse_repeats(intake, rows, same_day & np.append(False, np.diff(channel) == 0), channel)
    group = np.cumsum(~same_day) - 1
    starts = np.flatnonzero(~same_day)
    spends = np.zeros((len(starts), len(schema.channels)))
    known = channel >= 0
    spends[group[known], channel[known]] = rows.columns[str(schema.spend_column)][known]
    wide = Rows(rows.units[starts], rows.times[starts], {})
    for k, name in enumerate(schema.channels):
        wide.columns[name] = np.ascontiguousarray(spends[:, k])
    for name, values in rows.columns.items():
        if name not in (schema.spend_column, schema.channel_column):
            wide.columns[name] = _one_per_day(intake, rows, name, values, group)
    return check_split(intake, Spot(intake, None, wide.units, wide.times), wide)


def _channel_index(intake: Intake, rows: Rows) -> NDArray[np.int64]:
    """The place of each row's channel in the schema, −1 where it is not listed."""
    schema = intake.plan.schema
    column = str(schema.channel_column)
    words = intake.words[column].values
    listed = [] if words is None else words.to_pylist()
    place = {name: k for k, name in enumerate(schema.channels)}
    index = np.array([*(place.get(word, -1) for word in listed), -1])[rows.columns[column]]
    unlisted = [word for word in listed if word not in place]
    if np.any(index < 0):
        spot = Spot(intake, None, rows.units, rows.times)
        spot.flag("unlisted_channel", index < 0, column)
        key = ("unlisted_channel", column)
        quoted = ", ".join(repr(word) for word in unlisted[:5]) or "nothing"
        intake.tally.firsts[key] = intake.tally.firsts[key]._replace(value=quoted)
    return index


def _refuse_repeats(
    intake: Intake, rows: Rows, repeated: NDArray[np.bool_], channel: NDArray[np.int64]
) -> None:
    Spot(intake, None, rows.units, rows.times).flag(
        "repeated_channel", repeated & (channel >= 0), None
    )


def _one_per_day(
    intake: Intake, rows: Rows, name: str, values: NDArray[Any], group: NDArray[np.int64]
) -> NDArray[Any]:
    """The first given value of each group; rows that give another one are counted against the rule."""
    missing = _missing(values)
    given = np.flatnonzero(~missing)
    first = np.full(int(group[-1]) + 1, -1)
    first[group[given][::-1]] = given[::-1]  # the last write wins, so the first given row stays
    chosen = np.where(first >= 0, first, np.searchsorted(group, np.arange(len(first))))
    result = values[chosen]
    differs = ~missing & (values != result[group])
    if differs.any():
        row = int(np.argmax(differs))
        words = intake.unit_words.values
        unit = None if words is None else str(words[int(rows.units[row])].as_py())
        shown = (
            "two different ones"
            if values.dtype.kind == "i"
            else f"{say(result[group[row]])} and {say(values[row])}"
        )
        where = First("", unit, say(rows.times[row]), shown)
        intake.tally.add("differs_within_day", name, int(differs.sum()), where)
    return result


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.isnan(values)
    return values == NO_TIME if values.dtype == np.int64 else values < 0
