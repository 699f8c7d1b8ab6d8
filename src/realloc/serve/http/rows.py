"""Rows of a request as an Arrow table with the columns and types of the model's schema."""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.learn.features.encode import Encoder
from realloc.logs import Schema
from realloc.serve.http.http_error import Refusal
from realloc.serve.http.strict_json import check_text

LONGEST_TEXT = 256
LARGEST = 1e30
DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?", re.ASCII)

Row = dict[str, Any]


class Columns:
    """Which columns a row has, and how each is read."""

    def __init__(
        self, schema: Schema, encoder: Encoder | None, types: Mapping[str, str | None]
    ) -> None:
        self.schema = schema
        texts = set(schema.categorical or ()) if encoder is None else set(encoder.categories)
        features = [name for name in schema.features or () if name not in texts]
        read: dict[str, Callable[[Sequence[Any], str], pa.Array]] = {
            schema.unit: _ids,
            schema.time: _times,
        }
        read |= dict.fromkeys(schema.channels, _amounts)
        read |= {schema.budget: _amounts} if schema.budget else {}
        read |= {schema.currency: _texts} if schema.currency else {}
        read |= {name: READERS[types.get(name)] for name in features}
        read |= {name: _texts for name in schema.features or () if name in texts}
        self.read = read
        self.names = frozenset(read)

    def table(self, rows: list[Any]) -> pa.Table:
        """Rows as a table; what is missing, unknown or of another type is named by row and key."""
        for number, row in enumerate(rows):
            if type(row) is not dict:
                raise _bad(f"Expected row {number} to be an object.")
            if row.keys() != self.names:
                missing = sorted(self.names - row.keys())
                if missing:
                    raise _bad(
                        f"Expected the key {missing[0]!r} in row {number}. A feature that is not known is null."
                    )
                raise _bad(
                    f"Unknown key in row {number}. Expected {', '.join(sorted(self.names))}."
                )
        return pa.table(
            {name: read([row[name] for row in rows], name) for name, read in self.read.items()}
        )

    def shares(self, given: Any, rows: int) -> np.ndarray:
        """Wanted shares (n, K): one object for every row, or one for all."""
        listed = given if type(given) is list else [given] * rows
        if len(listed) != rows or any(
            type(item) is not dict or item.keys() != set(self.schema.channels) for item in listed
        ):
            raise _bad(
                f"Expected `to` as an object with a share for each of {', '.join(self.schema.channels)}, or a list of them, "
                "one for each row."
            )
        found = [
            [_number(item[name], "to", number) for name in self.schema.channels]
            for number, item in enumerate(listed)
        ]
        shares = np.array(found, dtype=np.float64)
        if shares.min() < 0 or np.abs(shares.sum(axis=1) - 1).max() > 1e-6:
            raise _bad("Expected shares of at least 0 that sum to 1 in `to`.")
        return shares


def check_rows(rows: Any, most: int) -> list[Any]:
    """The rows of a request: at least one, not too many."""
    if type(rows) is not list or not rows:
        raise _bad("Expected `rows` to be a list of at least one row.")
    if len(rows) > most:
        raise Refusal(
            413,
            "too_many_rows",
            f"Expected at most {most} rows in a request. Split it, or use /v1/batch.",
        )
    return rows


def _bad(sentence: str) -> Refusal:
    return Refusal(422, "bad_rows", sentence)


def _number(value: Any, name: str, row: int) -> float:
    if type(value) not in (int, float) or not abs(value) <= LARGEST:
        raise _bad(f"Expected a number in {name!r} of row {row}.")
    return float(value)


def _read_numbers(values: Sequence[Any], name: str) -> NDArray[np.float64]:
    """All at once; where one of them is none, one by one, to say which."""
    if set(map(type, values)) <= {int, float}:
        found = np.array(values, np.float64)
        if (np.abs(found) <= LARGEST).all():
            return found + 0.0  # −0 is 0
    return np.array([_number(value, name, row) for row, value in enumerate(values)])


def _amounts(values: Sequence[Any], name: str) -> pa.Array:
    return pa.array(_read_numbers(values, name))


def _numbers(values: Sequence[Any], name: str) -> pa.Array:
    """A feature in numbers; null is missing."""
    if None not in values:
        return pa.array(_read_numbers(values, name))
    return pa.array(
        _read_numbers([0.0 if value is None else value for value in values], name),
        mask=_missing(values),
    )


def _flags(values: Sequence[Any], name: str) -> pa.Array:
    """A feature that is true or false."""
    for row, value in enumerate(values):
        if value is not None and type(value) is not bool:
            raise _bad(f"Expected true, false or null in {name!r} of row {row}.")
    return pa.array(np.array([bool(value) for value in values]), mask=_missing(values))


def _dates(values: Sequence[Any], name: str) -> pa.Array:
    """A feature in dates."""
    stamps = np.array(
        ["NaT" if v is None else _date(v, name, row) for row, v in enumerate(values)],
        "datetime64[us]",
    )
    return pa.array(stamps.astype(np.int64), pa.int64(), mask=_missing(values)).cast(
        pa.timestamp("us")
    )


def _any(values: Sequence[Any], name: str) -> pa.Array:
    """A feature of a version that does not say as what its values were given: all flags, all dates, or numbers."""
    given = {type(value) for value in values if value is not None}
    read = _dates if given == {str} else _flags if given == {bool} else _numbers
    return read(values, name)


def _missing(values: Sequence[Any]) -> NDArray[np.bool_]:
    return np.array([value is None for value in values])


READERS = {"number": _numbers, "flag": _flags, "date": _dates, None: _any}


def _texts(values: Sequence[Any], name: str) -> pa.Array:
    if _are_plain(values):
        return pa.array(values, pa.string())
    for row, value in enumerate(values):
        if value is not None and type(value) is not str:
            raise _bad(f"Expected text or null in {name!r} of row {row}.")
        if value is not None:
            _short(value, name, row)
    return pa.array(values, pa.string())


def _ids(values: Sequence[Any], name: str) -> pa.Array:
    if all(type(value) is int for value in values):
        return pa.array(np.array(values, dtype=np.int64))
    if _are_plain(values) and all(values):
        return pa.array(values, pa.string())
    for row, value in enumerate(values):
        if type(value) is not str or not value:
            raise _bad(
                f"Expected ids that are all text or all whole numbers in {name!r}, got another in row {row}."
            )
        _short(value, name, row)
    return pa.array(values, pa.string())


def _times(values: Sequence[Any], name: str) -> pa.Array:
    if set(map(type, values)) == {str}:  # often one day for all: each is looked at once
        first = {value: row for row, value in reversed(list(enumerate(values)))}
        for value, row in sorted(first.items(), key=itemgetter(1)):
            _date(value, name, row)
        return pa.array(values, pa.string())
    return pa.array([_date(value, name, row) for row, value in enumerate(values)], pa.string())


def _date(value: Any, name: str, row: int) -> str:
    if type(value) is not str or not DATE.fullmatch(value):
        raise _bad(
            f"Expected a date such as 2026-11-16 or 2026-11-16T09:30:00 in {name!r} of row {row}."
        )
    try:
        np.datetime64(value)
    except ValueError:
        raise _bad(f"Expected a date that exists in {name!r} of row {row}.") from None
    return value


def _are_plain(values: Sequence[Any]) -> bool:
    """Whether all are texts that may be taken; where not, each is looked at, to say which."""
    return (
        set(map(type, values)) == {str}
        and max(map(len, values)) <= LONGEST_TEXT
        and "".join(values).isprintable()
    )


def _short(value: str, name: str, row: int) -> None:
    if len(value) > LONGEST_TEXT:
        raise _bad(f"Expected at most {LONGEST_TEXT} signs in {name!r} of row {row}.")
    check_text(value)
