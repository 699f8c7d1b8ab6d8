"""Rows of a request as an Arrow table with the columns and types of the model's schema."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from realloc.base.simplex import Floats
from realloc.logs import Schema
from realloc.logs.plain import PlainLogs, read_plain
from realloc.serve.http.http_error import HttpError

MAX_TEXT = 256  # characters
MAX_NUMBER = 1e30
DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?", re.ASCII)

Values = Sequence[Any]


class RequestColumns:
    """The columns of a row, and how each is read."""

    def __init__(self, schema: Schema, types: Mapping[str, str]) -> None:
        """`types` says of each feature whether it is a number, flag, date or text."""
        self.schema = schema
        self.types = types
        self.readers: dict[str, Callable[[Values, str], pa.Array]] = {
            schema.unit: _read_ids,
            schema.time: _read_times,
        }
        self.readers |= dict.fromkeys(schema.channels, _read_amounts)
        if schema.budget:
            self.readers[schema.budget] = _read_amounts
        if schema.currency:
            self.readers[schema.currency] = _read_texts
        self.readers |= {name: READERS[types[name]] for name in schema.features or ()}

    def table(self, rows: list[Any]) -> pa.Table:
        """Read rows; what is missing, unknown or of another type is named by row and key."""
        columns: dict[str, list[Any]] = {}
        with suppress(KeyError, TypeError):  # TypeError: a row that is no object
            columns = {name: [row[name] for row in rows] for name in self.readers}
        if not columns or set(map(len, rows)) != {len(columns)}:
            raise self._wrong_keys(rows)
        return pa.table(
            {name: read(columns[name], name) for name, read in self.readers.items()}
        )

    def plain(self, rows: list[Any]) -> PlainLogs | None:
        """Read rows without a table; None where one of them is unusual or wrong."""
        if not {dict}.issuperset(map(type, rows)):
            return None
        logs = read_plain(rows, self.schema)
        if logs is None:
            return None
        for name in self.schema.features or ():
            kind = self.types[name]
            if kind == "date" or (name in logs.columns.flags) != (kind == "flag"):
                return None
        return logs

    def _wrong_keys(self, rows: list[Any]) -> HttpError:
        names = set(self.readers)
        number, row = next(
            (number, row)
            for number, row in enumerate(rows)
            if type(row) is not dict or row.keys() != names
        )
        if type(row) is not dict:
            return bad_rows(f"Expected row {number} to be an object.")
        missing = sorted(names - row.keys())
        if missing:
            return bad_rows(
                f"Expected the key {missing[0]!r} in row {number}. A feature may be null."
            )
        return bad_rows(
            f"Unknown key in row {number}. Expected {', '.join(sorted(names))}."
        )

    def shares(self, to: Any, rows: int) -> Floats:
        """Read target shares (n, K): one object for all rows, or a list with one for each."""
        channels = self.schema.channels
        targets = to if type(to) is list else [to] * rows
        if len(targets) != rows or any(
            type(target) is not dict or target.keys() != set(channels) for target in targets
        ):
            raise bad_rows(
                f"Expected `to` as an object with a share for each of {', '.join(channels)}, or a "
                "list of them, one for each row."
            )
        columns = [
            _numbers([target[name] for target in targets], "to") for name in channels
        ]
        shares = np.stack(columns, axis=1)
        if shares.min() < 0 or np.abs(shares.sum(axis=1) - 1).max() > 1e-6:
            raise bad_rows("Expected shares of at least 0 that sum to 1 in `to`.")
        return shares


def bad_rows(sentence: str) -> HttpError:
    """Refuse rows that cannot be read."""
    return HttpError(422, "bad_rows", sentence)


def _check_types(values: Values, name: str, types: set[type], expected: str) -> None:
    if not types.issuperset(map(type, values)):
        row = next(row for row, value in enumerate(values) if type(value) not in types)
        raise bad_rows(f"Expected {expected} in {name!r} of row {row}.")


def _numbers(values: Values, name: str) -> Floats:
    _check_types(values, name, {int, float}, "a number")
    numbers = np.array(values, np.float64)
    too_large = np.abs(numbers) > MAX_NUMBER
    if too_large.any():
        raise bad_rows(
            f"Expected a number up to {MAX_NUMBER:g} in {name!r} of row {too_large.argmax()}."
        )
    return numbers + 0.0  # −0 becomes 0


def _read_amounts(values: Values, name: str) -> pa.Array:
    return pa.array(_numbers(values, name))


def _read_numbers(values: Values, name: str) -> pa.Array:
    if None not in values:
        return pa.array(_numbers(values, name))
    missing = np.array([value is None for value in values])
    filled = [0.0 if value is None else value for value in values]
    return pa.array(_numbers(filled, name), mask=missing)


def _read_flags(values: Values, name: str) -> pa.Array:
    _check_types(values, name, {bool, type(None)}, "true, false or null")
    return pa.array(values, pa.bool_())


def _read_dates(values: Values, name: str) -> pa.Array:
    for row, value in enumerate(values):
        if value is not None:
            _check_date(value, name, row)
    return pa.array(np.array(values, "datetime64[us]"))


def _read_times(values: Values, name: str) -> pa.Array:
    checked: set[str] = set()  # often one day for all rows
    for row, value in enumerate(values):
        if type(value) is not str or value not in checked:
            checked.add(_check_date(value, name, row))
    return pa.array(values, pa.string())


def _check_date(value: Any, name: str, row: int) -> str:
    if type(value) is not str or not DATE.fullmatch(value):
        raise bad_rows(
            f"Expected a date such as 2026-11-16 or 2026-11-16T09:30:00 in {name!r} of row {row}."
        )
    try:
        np.datetime64(value)
    except ValueError:
        raise bad_rows(f"Expected a date that exists in {name!r} of row {row}.") from None
    return value


def _read_texts(values: Values, name: str) -> pa.Array:
    _check_types(values, name, {str, type(None)}, "text or null")
    for row, value in enumerate(values):
        if value is None:
            continue
        if len(value) > MAX_TEXT:
            raise bad_rows(f"{name!r} in row {row} is longer than {MAX_TEXT} characters.")
        if not value.isprintable():
            sentence = f"Expected text without control characters in {name!r} of row {row}."
            raise HttpError(400, "bad_json", sentence)
    return pa.array(values, pa.string())


def _read_ids(values: Values, name: str) -> pa.Array:
    if set(map(type, values)) == {int}:
        return pa.array(values, pa.int64())
    _check_types(values, name, {str}, "ids that are all text or all integers")
    if "" in values:
        raise bad_rows(
            f"Expected an id in {name!r} of row {values.index('')}, got empty text."
        )
    return _read_texts(values, name)


READERS = {
    "number": _read_numbers,
    "flag": _read_flags,
    "date": _read_dates,
    "text": _read_texts,
}
