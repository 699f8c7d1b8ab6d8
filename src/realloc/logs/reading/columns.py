"""One column at a time: from whatever type it came in to the type its part needs, with the values that did not fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.logs.reading.arrow import compute as pc

MISSING_WORDS = ("", "nan", "na", "n/a", "null", "none")
NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
INFINITE = r"^[+-]?(inf|infinity)$"
ISO_DAY = r"^\d{4}-\d{2}-\d{2}$"
ISO_MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$"
DAY_MICROS = 86_400_000_000
NO_TIME = np.iinfo(np.int64).min
YEAR_1, YEAR_10000 = -719_162 * DAY_MICROS, 2_932_897 * DAY_MICROS
MOST_CATEGORIES = 1_000_000


@dataclass(frozen=True)
class Parsed:
    """Values of one column of one batch, and which of them could not be understood."""

    values: NDArray[Any]
    bad: NDArray[np.bool_]
    texts: pa.Array | None = None  # the column as text where some were bad, to quote one

    def quote(self, row: int) -> str:
        """The value of a row as the user wrote it."""
        if self.texts is None:
            return "one outside the years 1 to 9999"
        text = str(self.texts[row].as_py())
        return repr(text if len(text) <= 40 else text[:40] + "…")


def to_numbers(column: pa.Array, name: str, allow_text: bool, allow_bool: bool = True) -> Parsed:
    """float64 with NaN for missing. Text is parsed where the source knows nothing else (CSV), and refused elsewhere."""
    kind = column.type
    if allow_text and is_text(kind):
        return _numbers_from_text(decoded(column, name))
    allowed = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    )
    if not allowed and not (allow_bool and pa.types.is_boolean(kind)):
        raise LogError(
            f"Expected numbers in column {name!r}, got {_say_type(kind)}. Convert the column first."
        )
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    if not pa.types.is_float64(kind):
        column = column.cast(pa.float64(), safe=False)
    values = column.to_numpy(zero_copy_only=False)
    return Parsed(np.asarray(values, dtype=np.float64), np.zeros(len(column), dtype=bool))


def _numbers_from_text(column: pa.Array) -> Parsed:
    text = pc.utf8_trim_whitespace(column)
    lower = pc.utf8_lower(text)
    missing = pc.fill_null(pc.is_in(lower, value_set=pa.array(MISSING_WORDS)), True)
    infinite = pc.fill_null(pc.match_substring_regex(lower, INFINITE), False)
    negative = pc.and_(infinite, pc.starts_with(lower, pattern="-"))
    good = pc.or_(pc.fill_null(pc.match_substring_regex(text, NUMBER), False), infinite)
    plain = pc.if_else(
        pc.and_(good, pc.invert(infinite)), pc.utf8_ltrim(text, "+"), pa.scalar(None, pa.string())
    )
    values = plain.cast(pa.float64()).to_numpy(zero_copy_only=False).copy()
    values[infinite.to_numpy(zero_copy_only=False)] = np.inf
    values[negative.to_numpy(zero_copy_only=False)] = -np.inf
    bad = pc.invert(pc.or_(good, missing)).to_numpy(zero_copy_only=False)
    return Parsed(values, bad, column)


def to_times(column: pa.Array, name: str) -> tuple[Parsed, bool, bool]:
    """Microseconds since 1970 (NO_TIME for missing or bad), whether a time zone was given, whether one was lacking."""
    kind = column.type
    if is_text(kind):
        return _times_from_text(decoded(column, name))
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_null(kind)):
        raise LogError(
            f"Expected dates in column {name!r}, got {_say_type(kind)}. "
            "Turn it into dates first, e.g. 20260131 → 2026-01-31."
        )
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    nanos = (
        pa.types.is_timestamp(kind) and kind.unit == "ns"
    )  # only there digits may be cut, elsewhere years would wrap
    try:
        micros = column.cast(
            pa.timestamp("us", tz=kind.tz if zoned else None), safe=not nanos
        ).cast(pa.int64())
    except pa.ArrowInvalid as problem:
        raise LogError(
            f"Expected dates of the years 1 to 9999 in column {name!r}, got one far outside."
        ) from problem
    values = pc.fill_null(micros, NO_TIME).to_numpy(zero_copy_only=False)
    naive = (
        not zoned
        and pa.types.is_timestamp(kind)
        and bool(np.any(values[values != NO_TIME] % DAY_MICROS))
    )
    bad = _outside(values) | (
        (values == NO_TIME) & ~column.is_null().to_numpy(zero_copy_only=False)
    )
    return Parsed(np.where(bad, NO_TIME, values), bad), zoned, naive


def _times_from_text(column: pa.Array) -> tuple[Parsed, bool, bool]:
    days = _days(column)
    if days is not None:
        bad = _outside(days)
        return Parsed(np.where(bad, NO_TIME, days), bad, column), False, False
    text = pc.utf8_trim_whitespace(column)
    missing = pc.fill_null(pc.is_in(pc.utf8_lower(text), value_set=pa.array(MISSING_WORDS)), True)
    day = pc.fill_null(pc.match_substring_regex(text, ISO_DAY), False)
    moment = pc.fill_null(pc.match_substring_regex(text, ISO_MOMENT), False)
    zoned = pc.and_(
        moment, pc.fill_null(pc.match_substring_regex(text, r"(Z|[+-]\d{2}:?\d{2})$"), False)
    )
    values = np.full(len(column), NO_TIME)
    for mask, kind in ((pc.and_(pc.or_(day, moment), pc.invert(zoned)), None), (zoned, "UTC")):
        chosen = mask.to_numpy(zero_copy_only=False)
        if chosen.any():
            values[chosen] = _parse_moments(text.filter(mask), kind)
    values[_outside(values)] = NO_TIME
    bad = (values == NO_TIME) & ~missing.to_numpy(zero_copy_only=False)
    naive = pc.any(pc.and_(moment, pc.invert(zoned))).as_py()
    return Parsed(values, bad, column), bool(pc.any(zoned).as_py()), bool(naive)


def _days(column: pa.Array) -> NDArray[np.int64] | None:
    """Microseconds of a column that holds nothing but days (2026-01-31), as most do; None where anything else is in it."""
    signs = pc.min_max(pc.binary_length(column))
    if column.null_count or (signs["min"].as_py(), signs["max"].as_py()) != (10, 10):
        return None
    try:
        return column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None


def _outside(micros: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (micros != NO_TIME) & ((micros < YEAR_1) | (micros >= YEAR_10000))


def _parse_moments(text: pa.Array, zone: str | None) -> NDArray[np.int64]:
    target = pa.timestamp("us", tz=zone)
    try:
        return (
            text.cast(pa.timestamp("ns", tz=zone))
            .cast(target, safe=False)
            .cast(pa.int64())
            .to_numpy()
        )
    except (
        pa.ArrowInvalid
    ):  # some day does not exist, such as 2026-02-30, or lies beyond nanoseconds: one by one
        return np.array(
            [_parse_moment(value, target) for value in text.to_pylist()], dtype=np.int64
        )


def _parse_moment(value: str, target: pa.DataType) -> int:
    try:
        return pa.array([value]).cast(target).cast(pa.int64())[0].as_py()
    except pa.ArrowInvalid:
        return NO_TIME


class Vocabulary:
    """Codes for text or whole-number values, the same across batches; `overflow` once there are too many."""

    def __init__(self, most: int | None = None) -> None:
        self.values: pa.Array | None = None
        self.most = most
        self.overflow = False

    def encode(self, column: pa.Array) -> NDArray[np.int32]:
        """Codes of a batch, −1 for missing."""
        column = decoded(column)
        if self.values is None and (self.most is None or len(column) <= self.most):
            first = column.dictionary_encode()
            self.values = first.dictionary
            return pc.fill_null(first.indices, -1).to_numpy(zero_copy_only=False)
        known = pa.array([], column.type) if self.values is None else self.values
        if column.type != known.type:
            column = column.cast(known.type)
        codes = pc.index_in(column, value_set=known)
        if codes.null_count > column.null_count:  # values not seen before
            unseen = pc.unique(column.filter(pc.and_(pc.is_null(codes), pc.is_valid(column))))
            known = pa.concat_arrays([known, unseen])
            if self.most is not None and len(known) > self.most:
                self.overflow, known = True, known[:0]
            codes = pc.index_in(column, value_set=known)
        self.values = known
        codes = pc.fill_null(codes, -1)
        return codes.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)

    def sorted(self) -> tuple[pa.Array, NDArray[np.int32]]:
        """The values in order, and for every code its place in that order."""
        values = self.values if self.values is not None else pa.array([], pa.string())
        order = pc.sort_indices(values).to_numpy()
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return values.take(pa.array(order)), place


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text, dictionary-encoded or not."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def decoded(column: pa.Array, name: str = "") -> pa.Array:
    """Without dictionary; text of any width as plain strings, refused where it is not UTF-8."""
    if not is_text(column.type):
        return (
            column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        )
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
