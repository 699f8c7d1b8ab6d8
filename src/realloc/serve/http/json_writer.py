"""A table of answers as JSON, one object a row: each column is written at once, and rows are put together from its parts."""

from collections.abc import Iterable, Sequence

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs import Schema


def list_rows(answers: pa.Table, schema: Schema) -> list[bytes | None]:
    """The object of every row; None where a number is none: nothing may be moved by it."""
    columns = {
        name: _write(column)
        for name, column in zip(answers.column_names, answers.columns, strict=True)
    }
    odd = [_no_numbers(column) for column in answers.columns if pa.types.is_floating(column.type)]
    template = _template(schema, list(columns))
    order = [columns.pop(name) for name in _first(schema)]
    rows: list[bytes | None] = [
        template % row for row in zip(*order, *columns.values(), strict=True)
    ]
    for row in np.flatnonzero(np.any(odd, axis=0)).tolist():
        rows[row] = None
    return rows


def join_rows(named: bytes, rows: Sequence[bytes]) -> bytes:
    """A body: what else it says (a JSON object that is not empty), and the rows as its `answers`."""
    return b'%b, "answers": [%b]}' % (named[:-1], b", ".join(rows))


def _first(schema: Schema) -> list[str]:
    """The columns that an object begins with."""
    shares = [f"share_{name}" for name in schema.channels]
    return [schema.unit, schema.time, *shares, *(f"spend_{name}" for name in schema.channels)]


def _template(schema: Schema, names: Iterable[str]) -> bytes:
    """An object with a place for every value."""
    channels = b"{%b}" % _places(schema.channels)
    first = b'"unit": %%b, "time": %%b, "shares": %b, "spend": %b' % (channels, channels)
    first_names = set(_first(schema))
    rest = [name for name in names if name not in first_names]
    return b"{%b}" % b", ".join([first, _places(rest)])


def _places(names: Iterable[str]) -> bytes:
    return b", ".join(orjson.dumps(name).replace(b"%", b"%%") + b": %b" for name in names)


def _write(column: pa.ChunkedArray) -> list[bytes]:
    """The JSON of every value."""
    if pa.types.is_floating(column.type):  # what is missing is NaN there, and null here
        return _split(
            orjson.dumps(column.to_numpy().astype(np.float64), option=orjson.OPT_SERIALIZE_NUMPY)
        )
    values = column.to_pylist()
    if not pa.types.is_string(column.type):
        return _split(orjson.dumps(values))
    if column.null_count:
        return [orjson.dumps(value) for value in values]
    # Inside of a text a quote follows a backslash, so these three signs stand only between two; and no line ends in one.
    return orjson.dumps(values)[1:-1].replace(b'","', b'"\n"').split(b"\n")


def _split(listed: bytes) -> list[bytes]:
    """The parts of a list of numbers or flags."""
    return listed[1:-1].split(b",")


def _no_numbers(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Where a column says NaN or infinity; what is missing is neither."""
    found = ~np.isfinite(column.to_numpy())
    return found & ~column.is_null().to_numpy() if column.null_count else found
