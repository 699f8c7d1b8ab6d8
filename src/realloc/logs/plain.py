"""Rows to decide on that came as plain values, such as those of a request: read without a table.

Only rows without anything unusual are read here. For any others `read_plain` gives None, and the
way over a table (`reading/read.py`) converts them or says what is wrong.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Integers, close
from realloc.logs.reading.columns import DAY_MICROS
from realloc.logs.reading.intake import ANCIENT, LARGEST_AMOUNT, LARGEST_NUMBER, sums_to_one
from realloc.logs.schema import Schema
from realloc.logs.table import Logs, Words

PlainRow = Mapping[str, Any]
NUMBERS = {int, float, np.int64, np.float64}
EXACT = 2**53  # whole numbers up to it are exact as floats
LONGEST = 256  # characters
ISO = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?", re.ASCII)
MIDNIGHT = datetime(1970, 1, 1)
MICRO = timedelta(microseconds=1)


@dataclass(frozen=True, eq=False)
class PlainColumns:
    """The columns of n rows in their order."""

    units: list[Any]  # all text or all whole numbers
    times: Integers  # microseconds since 1970
    amounts: Floats  # (n, K) as they were given: spends, or shares of the budget
    budget: Floats | None
    numbers: dict[str, NDArray[np.float32]]  # NaN where missing
    flags: dict[str, list[bool | None]]
    words: dict[str, list[str | None]]

    def to_lists(self) -> dict[str, Any]:
        """As values for JSON."""
        return dict(vars(self))


def join_columns(parts: Sequence[Mapping[str, Any]]) -> PlainColumns:
    """The columns that `to_lists` gave, one part after the other."""

    def joined(name: str) -> list[Any]:
        return [value for part in parts for value in part[name]]

    def by_feature(kind: str) -> dict[str, list[Any]]:
        return {
            name: [value for part in parts for value in part[kind][name]]
            for name in parts[0][kind]
        }

    budget = None if parts[0]["budget"] is None else np.array(joined("budget"), np.float64)
    numbers = by_feature("numbers")
    return PlainColumns(
        units=joined("units"),
        times=np.array(joined("times"), np.int64),
        amounts=np.array(joined("amounts"), np.float64),
        budget=budget,
        numbers={name: np.array(values, np.float32) for name, values in numbers.items()},
        flags=by_feature("flags"),
        words=by_feature("words"),
    )


class PlainLogs(Logs):
    """Logs of such rows; a table is made only for those who ask for one."""

    def __init__(self, schema: Schema, columns: PlainColumns) -> None:
        features = tuple(schema.features or ())
        parts = {"schema": schema, "features": features, "notes": (), "columns": columns}
        self.__dict__.update(parts)

    columns: PlainColumns

    def __len__(self) -> int:
        return len(self.columns.units)

    @cached_property
    def table(self) -> pa.Table:
        """The rows in Arrow's types."""
        columns = self.columns
        schema = self.schema
        times = pa.array(columns.times, pa.timestamp("us"))
        is_day = not np.any(columns.times % DAY_MICROS)
        arrays = {
            schema.unit: pa.array(columns.units).dictionary_encode(),
            schema.time: times.cast(pa.date32()) if is_day else times,
        }
        if columns.budget is not None and schema.budget is not None:
            arrays[schema.budget] = pa.array(columns.budget)
        arrays |= dict(zip(schema.channels, map(pa.array, columns.amounts.T), strict=True))
        for name in self.features:
            if name in columns.numbers:
                arrays[name] = pa.array(columns.numbers[name])
            elif name in columns.flags:
                arrays[name] = pa.array(columns.flags[name], pa.bool_())
            else:
                arrays[name] = pa.array(
                    columns.words[name], pa.string()
                ).dictionary_encode()
        return pa.table(arrays)

    @property
    def unit_names(self) -> NDArray[np.str_]:
        """The unit of each row as text."""
        return np.array(self.columns.units).astype(np.str_)

    @property
    def times(self) -> NDArray[np.datetime64]:
        """The period of each row."""
        return self.columns.times.view("datetime64[us]")

    @property
    def amounts(self) -> Floats:
        """The channel columns as they were given."""
        return self.columns.amounts

    @property
    def shares(self) -> Floats:
        """The allocation p of each row."""
        return close(self.columns.amounts)

    @property
    def budget(self) -> Floats:
        """The budget B of each row."""
        given = self.columns.budget
        return self.columns.amounts.sum(axis=1) if given is None else given

    def is_category(self, name: str) -> bool:
        """Whether a feature is a category."""
        return name in self.columns.words

    def floats(self, name: str) -> Floats:
        """A number or flag as float64, NaN where missing."""
        if name in self.columns.numbers:
            return self.columns.numbers[name].astype(np.float64)
        return np.array(self.columns.flags[name], np.float64)

    def words(self, name: str) -> Words:
        """A category: its words, and one code per row into them, −1 where missing."""
        texts = self.columns.words[name]
        words = [text for text in dict.fromkeys(texts) if text is not None]
        place = {text: code for code, text in enumerate(words)}
        return words, np.array([-1 if text is None else place[text] for text in texts])

    def take(self, rows: NDArray[Any]) -> Logs:
        """The rows where a mask is true, or at the given positions."""
        return Logs(self.schema, self.table, self.features).take(rows)


class _UnusualError(Exception):
    """A value that is not read here."""


def read_plain(rows: Sequence[PlainRow], schema: Schema) -> PlainLogs | None:
    """Rows that need no conversion as logs; None where a table has to be made of them."""
    unusual = schema.drop_units or schema.currency or schema.read.date_format
    if unusual or schema.features is None or not rows:
        return None
    budget = () if schema.budget is None else (schema.budget,)
    names = (schema.unit, schema.time, *schema.channels, *budget, *schema.features)
    if any(len(row) != len(names) for row in rows):
        return None
    try:
        columns = {name: [row[name] for row in rows] for name in names}
        return PlainLogs(schema, _check(columns, schema))
    except (KeyError, TypeError, _UnusualError):
        return None


def _check(columns: dict[str, list[Any]], schema: Schema) -> PlainColumns:
    numbers: dict[str, NDArray[np.float32]] = {}
    flags: dict[str, list[bool | None]] = {}
    words: dict[str, list[str | None]] = {}
    for name in schema.features or ():
        values = columns[name]
        if name in (schema.categorical or ()):
            words[name] = [None if text is None else _text(text) or None for text in values]
        elif {bool} <= set(map(type, values)) <= {bool, NoneType}:
            flags[name] = values
        else:
            numbers[name] = np.array([_number(value) for value in values], np.float32)
    amounts = np.stack([_amounts(columns[name]) for name in schema.channels], axis=1)
    total = amounts.sum(axis=1)
    budget = None
    if schema.budget is not None:
        budget = _amounts(columns[schema.budget])
        if (budget == 0).any() or not sums_to_one(total, len(schema.channels)).all():
            raise _UnusualError
    elif (total == 0).any():
        raise _UnusualError
    return PlainColumns(
        units=_ids(columns[schema.unit]),
        times=np.array([_micros(value) for value in columns[schema.time]], np.int64),
        amounts=amounts,
        budget=budget,
        numbers=numbers,
        flags=flags,
        words=words,
    )


def _ids(values: list[Any]) -> list[Any]:
    kinds = set(map(type, values))
    if kinds == {str} and all(_text(value).strip() for value in values):
        return values
    if kinds == {int} and all(abs(value) < 2**63 for value in values):
        return values
    raise _UnusualError


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > LONGEST or not value.isprintable():
        raise _UnusualError
    return value


def _number(value: Any) -> float:
    if value is None:
        return np.nan
    kind = type(value)
    if kind not in NUMBERS or abs(value) > (LARGEST_NUMBER if kind is float else EXACT):
        raise _UnusualError
    return value


def _amounts(values: list[Any]) -> Floats:
    if not set(map(type, values)) <= NUMBERS:
        raise _UnusualError
    amounts = np.array(values, np.float64) + 0.0  # −0 becomes 0
    if not ((amounts >= 0) & (amounts <= LARGEST_AMOUNT)).all():
        raise _UnusualError
    return amounts


def _micros(value: Any) -> int:
    """Microseconds since 1970 of an ISO date, or a moment without a zone."""
    if type(value) is str:
        if not ISO.fullmatch(value):
            raise _UnusualError
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise _UnusualError from None
    elif type(value) is date:
        value = datetime(value.year, value.month, value.day)
    elif type(value) is not datetime or value.tzinfo is not None:
        raise _UnusualError
    micros = (value - MIDNIGHT) // MICRO
    if micros < ANCIENT:
        raise _UnusualError
    return micros
