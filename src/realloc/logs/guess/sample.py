"""The first rows of a source, by what kind of values each column holds."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Integers, Mask
from realloc.logs.reading import columns
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.dates import DateForms, find_forms, read_dates
from realloc.logs.reading.options import ReadOptions
from realloc.logs.reading.source import Source

SAMPLE_ROWS = 200_000
MOSTLY = 0.9  # part of a column's values that must be of a kind


@dataclass(frozen=True)
class GuessSample:
    """The first rows, and the columns of each kind; a few bad cells do not change the kind."""

    table: pa.Table
    numbers: dict[str, Floats] = field(default_factory=dict[str, Floats])
    texts: list[str] = field(default_factory=list[str])
    wholes: list[str] = field(default_factory=list[str])  # whole numbers, so may be ids
    times: dict[str, Integers] = field(default_factory=dict[str, Integers])
    forms: dict[str, DateForms] = field(default_factory=dict[str, DateForms])  # not ISO

    @cached_property
    def amounts(self) -> dict[str, Floats]:
        """Numbers that are mostly finite and at least 0, and not all 0."""
        amounts: dict[str, Floats] = {}
        for name, values in self.numbers.items():
            given = values[~np.isnan(values)]
            usable = np.isfinite(given) & (given >= 0)
            if np.any(given > 0) and usable.mean() >= MOSTLY:
                amounts[name] = values
        return amounts

    def column(self, name: str) -> pa.Array:
        """A column without dictionary."""
        return columns.decoded(self.table[name].combine_chunks(), name)

    def codes(self, name: str) -> Integers:
        """A number for each different value, −1 where it is missing."""
        if name in self.times:
            return self.times[name]
        return columns.Vocabulary().encode(self.column(name)).astype(np.int64)


def first_rows(source: Source) -> pa.Table:
    """As many rows as a guess needs."""
    batches: list[pa.RecordBatch] = []
    rows = 0
    for piece in source.pieces(source.columns.names):
        batches.append(piece.batch)
        rows += piece.batch.num_rows
        if rows >= SAMPLE_ROWS:
            break
    if not rows:
        raise LogError("Expected rows to find a schema from, but the log is empty.")
    return pa.Table.from_batches(batches)


def take_sample(source: Source, table: pa.Table, read: ReadOptions) -> GuessSample:
    """Sort the columns of the first rows by kind."""
    sample = GuessSample(table)
    for name in source.columns.names:
        column = table[name].combine_chunks()
        kind = _kind(column, name, source.text, read)
        if kind == "number":
            values = columns.to_numbers(column, name, source.text, read=read).values
            sample.numbers[name] = values
            given = values[np.isfinite(values)]
            whole = len(given) > 0 and np.all(given == np.rint(given))
            if whole or pa.types.is_integer(column.type):
                sample.wholes.append(name)
        elif kind == "time":
            sample.times[name] = columns.to_times(column, name, read.date_format).values
        elif kind == "text":
            forms = _forms(columns.decoded(column, name))
            if forms:
                sample.forms[name] = forms
                first = read_dates(
                    pc.utf8_trim_whitespace(sample.column(name)), forms.forms[0]
                )
                sample.times[name] = first
            else:
                sample.texts.append(name)
    return sample


def _kind(
    column: pa.Array, name: str, text_source: bool, read: ReadOptions
) -> Literal["number", "time", "text"] | None:
    """The kind of most of the values where all are text."""
    if columns.is_time(column.type):
        return "time"
    if columns.is_number(column.type):
        return "number"
    if not columns.is_text(column.type):
        return None
    text = columns.decoded(column, name)
    times = columns.to_times(text, name, read.date_format)
    if _mostly_good(times, times.values != columns.NO_TIME):
        return "time"
    numbers = columns.to_numbers(text, name, allow_text=True, read=read)
    padded = pc.any(pc.match_substring_regex(text, r"^\s*[+-]?0\d")).as_py()
    good = text_source and not padded and _mostly_good(numbers, np.isfinite(numbers.values))
    return "number" if good else "text"


def _mostly_good(parsed: columns.Parsed, good: Mask) -> bool:
    bad = int(parsed.bad.sum())
    given = int(good.sum()) + bad
    return given > 0 and bad <= (1 - MOSTLY) * given


def _forms(text: pa.Array) -> DateForms | None:
    """The forms of a column that holds dates other than ISO ones."""
    words = pc.unique(pc.utf8_trim_whitespace(text.drop_null()))
    words = words.filter(pc.invert(columns.is_missing(words)))
    if find_forms(words.slice(0, 100)) is None:
        return None
    found = find_forms(words)
    return found if found and found.forms else None
