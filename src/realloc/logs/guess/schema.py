"""A first schema from the data alone: every column's part by its name, type and arithmetic.

A guess tolerates a few bad cells, so that the check can report them: a channel with one negative
spend is a channel.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from realloc.base.errors import LogError
from realloc.base.validation import nearest
from realloc.logs import names
from realloc.logs.guess.channels import FoundChannels, find_channels, whole_of
from realloc.logs.guess.dialect import example, guess_files, guess_numbers
from realloc.logs.guess.sample import MOSTLY, GuessSample, first_rows, take_sample
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.later import find_later
from realloc.logs.reading.options import ReadOptions
from realloc.logs.reading.source import Source, open_source
from realloc.logs.schema import Schema

NEARLY_UNIQUE = 0.98


@dataclass(frozen=True, kw_only=True)
class Hints:
    """What the user already knows."""

    unit: str | None = None
    time: str | None = None
    outcome: str | None = None
    channels: tuple[str, ...] = ()
    channel_column: str | None = None  # of the long layout, as is the next
    spend_column: str | None = None
    date_format: str | None = None

    @property
    def columns(self) -> tuple[str | None, ...]:
        """The single columns that are known."""
        long = (self.channel_column, self.spend_column)
        return (self.unit, self.time, self.outcome, *long)


def guess_schema(source: Any, hints: Hints | None = None) -> Schema:
    """The most plausible schema of a file or table, with a note per column; or what is missing.

    `schema.read` says how the text of the file seems to be written. Reading chooses the features.

    >>> import pyarrow as pa
    >>> days = ["2026-01-01", "2026-01-02"] * 2
    >>> table = pa.table({"shop": [*"aabb"], "day": days, "orders": [3, 4, 2, 5],
    ...                   "ads_spend": [9, 8, 7, 9], "tv_spend": [5, 6, 4, 5]})
    >>> schema = guess_schema(table)
    >>> schema.channels, schema.notes["ads_spend"]
    (('ads_spend', 'tv_spend'), 'channel: named like a spend')
    """
    hints = hints or Hints()
    read = guess_files(source, ReadOptions(date_format=hints.date_format))
    opened = open_source(source, read)
    for name in (*hints.columns, *hints.channels):
        if name is not None and name not in opened.columns.names:
            raise LogError(
                f"Expected a column {name!r}, but the log has none."
                f"{nearest(name, opened.columns.names)}"
            )
    table = first_rows(opened)
    read, doubtful = guess_numbers(opened, table, read)
    sample = take_sample(opened, table, read)
    time = hints.time or _find_time(sample)
    if time in sample.forms:
        read = replace(read, date_format=sample.forms[time].one)
    found = _find_parts(sample, time, hints)
    schema = replace(found, read=read)
    notes = found.notes | _rest(opened, schema)
    if read.changed:
        notes["[read]"] = f"The first row: {example(opened, table, read)}"
    if doubtful:
        first = notes.get("[read]", "")
        notes["[read]"] = (
            f"{first}. Is {doubtful} meant so? If not, change decimal and thousands"
        )
    return replace(schema, notes=notes)


def doubts(schema: Schema, part: str = "") -> Iterator[str]:
    """The questions in a guess: the columns and what is asked about them."""
    asked: dict[str, list[str]] = {}
    for name, note in schema.notes.items():
        if "?" in note and note.startswith(part):
            asked.setdefault(note, []).append(name)
    for note, listed in asked.items():
        yield f"{names.shortened(listed)} · {note}"


def _find_parts(sample: GuessSample, time: str, hints: Hints) -> Schema:
    """The schema of the first rows, with why each part was given."""
    long = None if hints.channels else _find_long(sample, time, hints)
    if long is not None:
        return long
    found = _find_channels(sample, time, hints)
    channels = found.channels
    budgets = names.mentioning(sample.amounts, names.BUDGET)
    budgets = [
        name for name in budgets if name not in channels and not names.looks_earlier(name)
    ]
    budget = budgets[0] if found.shares and budgets else None
    unit = hints.unit or _find_unit(sample, time, channels)
    propensity = next(
        (name for name in sample.numbers if "propensity" in names.words(name)), None
    )
    taken = {time, unit, budget, propensity, *channels}
    schema = Schema(
        unit=unit,
        time=time,
        outcome=hints.outcome or _find_outcome(sample, taken),
        channels=channels,
        budget=budget,
        propensity=propensity,
        currency=_find_currency(sample, unit),
    )
    notes = _notes(schema) | dict.fromkeys(channels, f"channel: {found.why}")
    return replace(schema, notes=notes)


def _notes(schema: Schema) -> dict[str, str]:
    notes = {
        schema.unit: "unit: an id with one row per date",
        schema.time: "time: dates",
        schema.outcome: "outcome: what should grow; its name says so",
    }
    if schema.budget:
        notes[schema.budget] = "budget: the channels are shares of it"
    if schema.propensity:
        notes[schema.propensity] = "propensity: named so"
    if schema.currency:
        notes[schema.currency] = "currency: named so"
    return notes


def _rest(source: Source, schema: Schema) -> dict[str, str]:
    """What becomes of columns without a part."""
    rest = [name for name in source.columns.names if name not in schema.columns]
    later = find_later(source, schema, rest)
    asked = "left out: named like a result; was it known before the budget was set?"
    fixed = "feature: named like a result, but it never changes within a unit"
    return {
        name: asked if name in later else fixed if names.looks_later(name) else "feature"
        for name in rest
    }


def _find_time(sample: GuessSample) -> str:
    if not sample.times:
        raise LogError(
            "Expected a column of dates (2026-01-31, 31.01.2026, Jan 31, 2026), but none of the "
            f"columns holds them: {', '.join(sample.table.column_names[:20])}. If one does in "
            "another form, name both: realloc init … --time day --date-format YYYYMMDD. If all "
            "rows are of one day, add a column with its date."
        )
    return min(sample.times, key=lambda name: names.rank(name, names.TIME))


def _find_long(sample: GuessSample, time: str, hints: Hints) -> Schema | None:
    """The long layout: one spend column, and a text column that makes a unit's rows unique."""
    spends = [name for name in sample.amounts if names.looks_spent(name)]
    spends = spends or names.mentioning(sample.amounts, names.AMOUNT)
    if hints.spend_column:
        spends = [hints.spend_column]
    kinds = names.mentioning(sample.texts, names.CHANNEL)
    if hints.channel_column:
        kinds = [hints.channel_column]
    if len(spends) != 1 or not kinds:
        return None
    channel = kinds[0]
    channels: list[str] = pc.unique(sample.column(channel)).drop_null().to_pylist()
    units = [hints.unit] if hints.unit else []
    for name in _ids(sample, (spends[0], channel)) if not hints.unit else ():
        whole_key = _unique_part(sample, [name, time, channel])
        if whole_key >= NEARLY_UNIQUE > _unique_part(sample, [name, time]):
            units.append(name)
    if not units or len(channels) < 2:
        return None
    unit = min(units, key=lambda name: names.rank(name, names.UNIT))
    schema = Schema(
        unit=unit,
        time=time,
        outcome=hints.outcome or _find_outcome(sample, {time, unit, channel, spends[0]}),
        channels=tuple(sorted(channels)),
        channel_column=channel,
        spend_column=spends[0],
        currency=_find_currency(sample, unit),
    )
    notes = {channel: "the channel of each row", spends[0]: "the spend of that channel"}
    return replace(schema, notes=_notes(schema) | notes)


def _find_channels(sample: GuessSample, time: str, hints: Hints) -> FoundChannels:
    if hints.channels:
        given = [sample.numbers[name] for name in hints.channels if name in sample.numbers]
        shares = bool(given) and whole_of(given) == 1.0
        return FoundChannels(hints.channels, shares, "as you say")
    unit = hints.unit or _find_unit(sample, time, ())
    outcomes = names.mentioning(sample.numbers, names.OUTCOME)
    taken = {time, unit, *(outcomes if hints.outcome is None else (hints.outcome,))}
    return find_channels(sample, sample.codes(unit), taken)


def _ids(sample: GuessSample, taken: tuple[str, ...]) -> list[str]:
    """Columns that may be ids: text, and whole numbers named like one."""
    named = set(names.mentioning(sample.wholes, names.UNIT))
    listed = [*sample.texts, *(name for name in sample.wholes if name in named)]
    return [name for name in listed if name not in taken]


def _find_unit(sample: GuessSample, time: str, channels: tuple[str, ...]) -> str:
    """An id that has at most one row per date, but for a few copies, named like one if possible."""
    able = _ids(sample, channels)
    parts = {name: _unique_part(sample, [name, time]) for name in able}
    fitting = [name for name in able if parts[name] >= NEARLY_UNIQUE]
    if not fitting:  # the whole log may be repeated; then the name must say it
        fitting = [
            name for name in names.mentioning(able, names.UNIT) if parts[name] >= 0.4
        ]
    if not fitting:
        raise LogError(
            f"Expected a column of ids with at most one row per {time!r}, but none fits "
            f"({', '.join(able[:10]) or 'there is no text or id column'}). Name it: realloc init … "
            "--unit item_id. If there is one row per channel, name what says so, too: "
            "--channel-column channel --spend-column amount."
        )
    return min(
        fitting,
        key=lambda name: (names.rank(name, names.UNIT), -parts[name], able.index(name)),
    )


def _unique_part(sample: GuessSample, keys: Iterable[str]) -> float:
    """How many different keys there are, as a part of the rows; 0 if the first is often missing."""
    codes = [sample.codes(name) for name in keys]
    if np.mean(codes[0] >= 0) < MOSTLY:
        return 0.0
    distinct = np.unique(np.stack(codes, axis=1), axis=0)
    return len(distinct) / len(codes[0])


def _find_currency(sample: GuessSample, unit: str) -> str | None:
    named = [name for name in sample.texts if names.looks_currency(name) and name != unit]
    return named[0] if len(named) == 1 else None


def _find_outcome(sample: GuessSample, taken: set[str | None]) -> str:
    able = [
        name
        for name in sample.numbers
        if name not in taken and not names.looks_earlier(name)
    ]
    named = names.mentioning(able, names.OUTCOME)
    if not named:
        texts = names.mentioning(sample.texts, names.OUTCOME)
        unread = ""
        if texts:
            cell = sample.column(texts[0])[0].as_py()
            unread = f" {texts[0]!r} is named like one, but holds text such as {cell!r}."
        raise LogError(
            "Expected an outcome column (named like orders, purchases, conversions, sales, revenue "
            f"or outcome), but found none among {', '.join(able[:20]) or 'the numbers'}.{unread} "
            "Name it: realloc init … --outcome bookings."
        )

    def preference(name: str) -> tuple[int, bool, int]:
        parts = names.words(name)
        return names.rank(name, names.OUTCOME), names.TOTAL.isdisjoint(parts), len(parts)

    return min(named, key=preference)
