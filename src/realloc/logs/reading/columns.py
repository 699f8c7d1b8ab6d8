"""One column at a time: from any type it may come in to the type its part of the schema needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.simplex import Integers, Mask
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.dates import NO_TIME, read_dates
from realloc.logs.reading.numerals import plain_numbers
from realloc.logs.reading.options import PLAIN, ReadOptions

MISSING_WORDS = ("", "nan", "na", "n/a", "null", "none")
ISO_DAY = r"^\d{4}-\d{2}-\d{2}$"
ZONE = r"(Z|[+-]\d{2}:?\d{2})"
ISO_MOMENT = (
    rf"^\d{{4}}-\d{{2}}-\d{{2}}[T ]\d{{2}}:\d{{2}}(:\d{{2}}(\.\d{{1,9}})?)?{ZONE}?$"
)
DAY_MICROS = 86_400_000_000
YEAR_1 = -719_162 * DAY_MICROS
YEAR_10000 = 2_932_897 * DAY_MICROS
MOST_CATEGORIES = 1_000_000


@dataclass(frozen=True)
class Parsed:
    """Values of one column of one batch, and which of them could not be understood."""

    values: NDArray[Any]
    bad: Mask
    texts: pa.Array | None = None  # the column as text where some were bad, to quote one
    zoned: bool = False  # times: some carry a time zone
    naive: bool = False  # times: some have an hour, but no time zone

    def quote(self, row: int) -> str:
        """The value of a row as the user wrote it."""
        if self.texts is None:
            return "one outside the years 1 to 9999"
        text = str(self.texts[row].as_py())
        return repr(text if len(text) <= 40 else text[:40] + "…")


def to_numbers(
    column: pa.Array,
    name: str,
    allow_text: bool,
    allow_bool: bool = True,
    read: ReadOptions = PLAIN,
) -> Parsed:
    """Convert to float64, NaN where missing. Text is parsed only where all is text (CSV)."""
    kind = column.type
    if allow_text and is_text(kind):
        column = decoded(column, name)
        text = pc.utf8_trim_whitespace(column)
        plain = plain_numbers(text, read)
        bad = pc.invert(pc.or_kleene(plain.is_valid(), is_missing(text)))
        return Parsed(np.array(plain.cast(pa.float64())), np.asarray(bad), column)
    if pa.types.is_boolean(kind) and allow_bool:
        column = column.cast(pa.uint8())
    elif not is_number(kind) and not pa.types.is_null(kind):
        raise LogError(
            f"Expected numbers in column {name!r}, got {_say_type(kind)}. Convert the column first."
        )
    if not pa.types.is_float64(kind):
        column = column.cast(pa.float64(), safe=False)
    return Parsed(np.asarray(column), np.zeros(len(column), dtype=bool))


def is_missing(text: pa.Array) -> pa.Array:
    """Whether trimmed text says that there is no value."""
    return pc.is_in(pc.utf8_lower(text), value_set=pa.array([*MISSING_WORDS, None]))


def to_times(column: pa.Array, name: str, form: str | None = None) -> Parsed:
    """Convert to microseconds since 1970, NO_TIME where missing or bad.

    Text is ISO, or written in `form` (DD.MM.YYYY).
    """
    if form and pa.types.is_integer(column.type):  # such as 20260131
        column = column.cast(pa.string())
    kind = column.type
    if is_text(kind):
        return _times_from_text(decoded(column, name), form)
    if not is_time(kind) and not pa.types.is_null(kind):
        raise LogError(
            f"Expected dates in column {name!r}, got {_say_type(kind)}. "
            'If they are written like 20260131, put date_format = "YYYYMMDD" into [read] of the '
            "config (--date-format YYYYMMDD); else turn them into dates first."
        )
    clock = pa.types.is_timestamp(kind)
    zone = kind.tz if clock else None
    # Only nanoseconds may lose digits; in other units an unsafe cast would wrap years.
    safe = not clock or kind.unit != "ns"
    try:
        moments = column.cast(pa.timestamp("us", tz=zone), safe=safe)
    except pa.ArrowInvalid as problem:
        raise LogError(
            f"Expected dates of the years 1 to 9999 in column {name!r}, got one far outside."
        ) from problem
    values = np.asarray(pc.fill_null(moments.cast(pa.int64()), NO_TIME))
    bad = _outside(values) | ((values == NO_TIME) & np.asarray(column.is_valid()))
    with_hour = clock and bool(np.any(values[values != NO_TIME] % DAY_MICROS))
    return Parsed(
        np.where(bad, NO_TIME, values),
        bad,
        zoned=zone is not None,
        naive=with_hour and zone is None,
    )


def _times_from_text(column: pa.Array, form: str | None) -> Parsed:
    days = _days(column)
    if days is not None:
        bad = _outside(days)
        return Parsed(np.where(bad, NO_TIME, days), bad, column)
    text = pc.utf8_trim_whitespace(column)
    day = _matches(text, ISO_DAY)
    moment = _matches(text, ISO_MOMENT)
    zoned = moment & _matches(text, f"{ZONE}$")
    values = np.full(len(column), NO_TIME)
    for chosen, zone in ((day | (moment & ~zoned), None), (zoned, "UTC")):
        if chosen.any():
            values[chosen] = _parse_moments(text.filter(pa.array(chosen)), zone)
    if form and not (day | moment).all():
        values = np.where(day | moment, values, read_dates(text, form))
    values[_outside(values)] = NO_TIME
    bad = (values == NO_TIME) & ~np.asarray(is_missing(text))
    naive = moment & ~zoned
    return Parsed(values, bad, column, bool(zoned.any()), bool(naive.any()))


def _matches(text: pa.Array, pattern: str) -> Mask:
    return np.asarray(pc.fill_null(pc.match_substring_regex(text, pattern), False))


def _days(column: pa.Array) -> Integers | None:
    """Microseconds where every value is a day (2026-01-31), as usual; None for any other column."""
    width = pc.min_max(pc.binary_length(column))
    if column.null_count or width["min"].as_py() != 10 or width["max"].as_py() != 10:
        return None
    try:
        return column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None


def _outside(micros: Integers) -> Mask:
    return (micros != NO_TIME) & ((micros < YEAR_1) | (micros >= YEAR_10000))


def _parse_moments(text: pa.Array, zone: str | None) -> Integers:
    micros = pa.timestamp("us", tz=zone)
    try:
        nanos = text.cast(pa.timestamp("ns", tz=zone))
        return nanos.cast(micros, safe=False).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        # One is no day of the calendar (2026-02-30) or beyond the range of nanoseconds.
        return np.array([_parse_moment(value, micros) for value in text.to_pylist()])


def _parse_moment(value: str, kind: pa.DataType) -> int:
    try:
        return pa.scalar(value).cast(kind).cast(pa.int64()).as_py()
    except pa.ArrowInvalid:
        return NO_TIME


@dataclass
class Vocabulary:
    """Codes for text or whole-number values that stay the same across batches.

    With more than `most` values `overflow` is set, and nothing is encoded any more.
    """

    most: int | None = None
    blanks: bool = True  # whether text that is only blanks is a value
    values: pa.Array | None = None
    overflow: bool = False
    last: tuple[pa.Array, NDArray[np.int32]] | None = None

    def encode(self, column: pa.Array) -> NDArray[np.int32]:
        """Codes of a batch, −1 for missing."""
        column = decoded(column)
        # A file per day mostly holds the same units in the same order.
        if self.last is None or not column.equals(self.last[0]):
            self.last = (column, self._look_up(column))
        return self.last[1]

    def _look_up(self, column: pa.Array) -> NDArray[np.int32]:
        known = pa.array([], column.type) if self.values is None else self.values
        self.values = known
        column = column.cast(known.type)
        codes = pc.index_in(column, value_set=known)
        if codes.null_count > column.null_count:  # values not seen before
            unseen = column.filter(pc.and_(pc.is_null(codes), pc.is_valid(column)))
            if self._add(pc.unique(unseen)):
                codes = pc.index_in(column, value_set=self.values)
        return np.asarray(pc.fill_null(codes, -1)).astype(np.int32, copy=False)

    def _add(self, unseen: pa.Array) -> bool:
        """Add new values; whether there were any but blanks."""
        if not self.blanks and is_text(unseen.type):
            unseen = unseen.filter(pc.not_equal(pc.utf8_trim_whitespace(unseen), ""))
        known = pa.concat_arrays([self.values, unseen])
        self.overflow |= self.most is not None and len(known) > self.most
        self.values = known[:0] if self.overflow else known
        return len(unseen) > 0

    def sorted(self) -> tuple[pa.Array, NDArray[np.int32]]:
        """The values in order, and for every code its place in that order."""
        values = self.values if self.values is not None else pa.array([], pa.string())
        order = pc.sort_indices(values)
        place = np.empty(len(order), dtype=np.int32)
        place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
        return values.take(order), place

    def word(self, code: int) -> str | None:
        """The value behind a code as text, None where it is missing."""
        return None if self.values is None or code < 0 else str(self.values[code].as_py())


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text, dictionary-encoded or not."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is a number; true/false is none."""
    return (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_time(kind: pa.DataType) -> bool:
    """Whether a type is a date or a moment."""
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def decoded(column: pa.Array, name: str = "") -> pa.Array:
    """The column without dictionary; any kind of text as plain strings, which must be UTF-8."""
    if not is_text(column.type):
        dictionary = pa.types.is_dictionary(column.type)
        return column.cast(column.type.value_type) if dictionary else column
    try:
        text = column.cast(pa.string())
        text.validate(full=True)
    except pa.ArrowException as problem:
        where = f"column {name!r}" if name else "every text column"
        raise LogError(
            f"Expected UTF-8 text in {where}, but it holds other bytes. Write it again."
        ) from problem
    return text


def _say_type(kind: pa.DataType) -> str:
    if is_text(kind):
        return "text"
    if pa.types.is_integer(kind):
        return "whole numbers"
    if pa.types.is_boolean(kind):
        return "true/false values"
    return f"the type {kind}"
