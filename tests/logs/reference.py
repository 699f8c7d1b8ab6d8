"""A slow, strict reading of a log with the standard library only: what to accept, what to refuse.

It shares no code with the package. A table is a list of names and a list of records of plain Python
values; a CSV becomes one whose values are all text.
"""

import csv
import io
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import realloc

MISSING = {"", "nan", "na", "n/a", "null", "none"}
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
INFINITE = re.compile(r"[+-]?(inf|infinity)")
MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
LARGEST_AMOUNT = 9e13
LARGEST_FLOAT32 = 3.4028234663852886e38
SUM_TOLERANCE = 2e-6


class Refused(Exception):
    """The log must be refused, and why."""


@dataclass(frozen=True)
class Row:
    """One accepted row."""

    unit: str
    time: datetime
    spends: tuple[float, ...]
    outcome: float
    budget: float


@dataclass(frozen=True)
class Verdict:
    """What a strict reader makes of a log: sorted rows and counts of others, or a refusal."""

    rows: tuple[Row, ...] = ()
    aside: dict[str, int] = field(default_factory=dict)
    refused: str | None = None
    cut: bool = False  # the last line has no line end


@dataclass(frozen=True)
class Plain:
    """A table as plain values."""

    names: Sequence[Any]
    records: Sequence[dict[Any, Any]]


def judge_csv(
    content: bytes, schema: realloc.Schema, today: date, delimiter: str = ","
) -> Verdict:
    """The verdict on the bytes of a CSV file."""
    try:
        table = _parse_csv(content, delimiter)
        verdict = _judge(table, schema, today, text=True)
    except Refused as reason:
        return Verdict(refused=str(reason))
    return Verdict(verdict.rows, verdict.aside, cut=not content.endswith((b"\n", b"\r")))


def judge_records(table: Plain, schema: realloc.Schema, today: date) -> Verdict:
    """The verdict on a typed table: numbers must be numbers."""
    try:
        return _judge(table, schema, today, text=False)
    except Refused as reason:
        return Verdict(refused=str(reason))


def _parse_csv(content: bytes, delimiter: str) -> Plain:
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        raise Refused("not UTF-8") from problem
    if "\x00" in text:
        raise Refused("NUL character")
    csv.field_size_limit(1 << 30)
    try:
        lines = list(
            csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        )
    except csv.Error as problem:
        raise Refused(f"broken quoting: {problem}") from problem
    if not lines or not any(name.strip() for name in lines[0]):
        raise Refused("no header")
    names = [name.strip() for name in lines[0]]
    records: list[dict[Any, Any]] = []
    for line in lines[1:]:
        if line and len(line) != len(names):
            raise Refused(f"{len(line)} fields under a header of {len(names)}")
        if line:
            records.append(dict(zip(names, line, strict=True)))
    return Plain(names, records)


def _judge(table: Plain, schema: realloc.Schema, today: date, text: bool) -> Verdict:
    named = {*table.names}
    if schema.long and schema.channel_column not in named and {*schema.channels} <= named:
        schema = replace(schema, channel_column=None, spend_column=None)  # wide rows
    _check_names(table, schema)
    rows = [_read(record, schema, today, text) for record in table.records]
    if schema.channel_column is not None:
        rows = _pivot(rows, table.records, schema)
    _refuse_twins({row.unit for row in rows})
    keys = Counter((row.unit, row.time) for row in rows)
    if any(count > 1 for count in keys.values()):
        raise Refused("two rows of one unit and date")
    aside: Counter[str] = Counter()
    kept: list[Row] = []
    for row in rows:
        code = _why_aside(row)
        if code is None or code == "missing_outcome":
            _check_sum(row, schema)
        if code:
            aside[code] += 1
        else:
            kept.append(row)
    if not kept:
        raise Refused("no usable rows")
    return Verdict(tuple(sorted(kept, key=lambda row: (row.unit, row.time))), dict(aside))


def _check_names(table: Plain, schema: realloc.Schema) -> None:
    if not all(isinstance(name, str) for name in table.names):
        raise Refused("a column name is not text")
    if len(set(table.names)) != len(table.names):
        raise Refused("a column name stands there twice")
    long = schema.channel_column is not None
    channels = (schema.channel_column, schema.spend_column) if long else schema.channels
    needed = [schema.unit, schema.time, schema.outcome, *channels, *(schema.features or ())]
    absent = [
        name
        for name in [*needed, schema.budget]
        if name is not None and name not in table.names
    ]
    if absent:
        raise Refused(f"no column {absent[0]!r}")


def _read(record: dict[Any, Any], schema: realloc.Schema, today: date, text: bool) -> Row:
    for name in schema.features or ():
        if name not in (schema.categorical or ()):
            value = _number(record[name], text, allow_bool=True)
            if abs(value) > LARGEST_FLOAT32:
                raise Refused("a feature out of range")
    listed = (
        (schema.spend_column,) if schema.channel_column is not None else schema.channels
    )
    spends = tuple(_amount(record[name], text) for name in listed)
    spends = tuple(0.0 if math.isnan(spend) else spend for spend in spends)
    budget = (
        math.fsum(spends) if schema.budget is None else _amount(record[schema.budget], text)
    )
    outcome = _number(record[schema.outcome], text, allow_bool=True)
    return Row(
        _unit(record[schema.unit]),
        _moment(record[schema.time], today),
        spends,
        outcome,
        budget,
    )


def _amount(value: Any, text: bool) -> float:
    number = _number(value, text, allow_bool=False)
    if number < 0 or number > LARGEST_AMOUNT:
        raise Refused(f"an amount of {number}")
    return number


def _number(value: Any, text: bool, allow_bool: bool) -> float:
    if _is_missing(value):
        return math.nan
    if text:
        return _number_of_text(value)
    if isinstance(value, bool) and not allow_bool:
        raise Refused("true/false instead of an amount")
    if isinstance(value, str | bytes):
        raise Refused("text instead of a number")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as problem:
        raise Refused(f"a {type(value).__name__} instead of a number") from problem
    if math.isinf(number):
        raise Refused("an infinite number")
    return number + 0.0


def _number_of_text(value: str) -> float:
    plain = value.strip()
    if plain.lower() in MISSING:
        return math.nan
    if INFINITE.fullmatch(plain.lower()) or not NUMBER.fullmatch(plain):
        raise Refused(f"{plain!r} is no number")
    number = float(plain)
    if math.isinf(number):
        raise Refused(f"{plain!r} is beyond all numbers")
    return number + 0.0


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and NA: whatever does not equal itself for sure."""
    if value is None:
        return True
    try:
        return not bool(value == value)  # noqa: PLR0124
    except TypeError:  # pandas.NA
        return True
    except ValueError:  # an array
        return False


def _unit(value: Any) -> str:
    if _is_missing(value) or (isinstance(value, str) and not value.strip()):
        raise Refused("no unit")
    if isinstance(value, bool) or not (
        isinstance(value, str) or hasattr(value, "__index__")
    ):
        raise Refused(f"a {type(value).__name__} as unit")
    if isinstance(value, str):
        if "\x00" in value:
            raise Refused("NUL in a unit")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as problem:
            raise Refused("a lone surrogate in a unit") from problem
    return str(value)


def _moment(value: Any, today: date) -> datetime:
    if _is_missing(value):
        raise Refused("no date")
    moment = _moment_of_text(value) if isinstance(value, str) else _moment_of_value(value)
    if moment.date() > today:
        raise Refused("a date in the future")
    return moment


def _moment_of_value(value: Any) -> datetime:
    if hasattr(value, "to_pydatetime"):
        value = value.floor("us").to_pydatetime()
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise Refused(f"a {type(value).__name__} as date")


def _moment_of_text(value: str) -> datetime:
    match = MOMENT.fullmatch(value.strip())
    if value.strip().lower() in MISSING or not match:
        raise Refused(f"{value!r} is no ISO date")
    day, minute, second, fraction, zone = match.groups()
    if fraction and not second:
        raise Refused(f"{value!r} is no ISO date")
    micros = ((fraction or "") + "000000")[:6]
    try:
        moment = datetime.fromisoformat(
            f"{day}T{minute or '00:00'}{second or ':00'}.{micros}"
        )
        if zone and zone != "Z":
            shift = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            if int(zone[1:3]) > 23 or int(zone[-2:]) > 59:
                raise Refused(f"{value!r} has no such zone")
            moment = moment - shift if zone[0] == "+" else moment + shift
    except (ValueError, OverflowError) as problem:
        raise Refused(f"{value!r} is no day") from problem
    return moment


def _refuse_twins(units: set[str]) -> None:
    tidy = {unicodedata.normalize("NFC", unit).strip() for unit in units}
    if len(tidy) != len(units):
        raise Refused("two ids that differ only in blanks or Unicode form")


def _why_aside(row: Row) -> str | None:
    if math.isnan(row.budget):
        return "missing_budget"
    if row.budget == 0:
        return "zero_budget"
    return "missing_outcome" if math.isnan(row.outcome) else None


def _check_sum(row: Row, schema: realloc.Schema) -> None:
    if schema.budget is not None and abs(math.fsum(row.spends) - 1) > SUM_TOLERANCE:
        raise Refused(f"shares that sum to {math.fsum(row.spends)}")


def _pivot(
    rows: list[Row], records: Sequence[dict[Any, Any]], schema: realloc.Schema
) -> list[Row]:
    """One row per unit and date; each channel once, outcomes that agree."""
    days: dict[tuple[str, datetime], dict[str, float]] = {}
    outcomes: dict[tuple[str, datetime], float] = {}
    for row, record in zip(rows, records, strict=True):
        key, channel = (row.unit, row.time), record[schema.channel_column]
        if channel not in schema.channels:
            raise Refused(f"{channel!r} is no channel")
        if channel in days.setdefault(key, {}):
            raise Refused("a channel twice on one day")
        days[key][channel] = row.spends[0]
        known = outcomes.get(key, math.nan)
        if not math.isnan(known) and not math.isnan(row.outcome) and known != row.outcome:
            raise Refused("two outcomes on one day")
        outcomes[key] = row.outcome if math.isnan(known) else known
    wide = [
        (key, tuple(spent.get(name, 0.0) for name in schema.channels))
        for key, spent in days.items()
    ]
    return [Row(*key, spends, outcomes[key], math.fsum(spends)) for key, spends in wide]
