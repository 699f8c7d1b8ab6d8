"""Answers as JSON objects, one per row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.decide.columns import in_order
from realloc.logs import Schema
from realloc.logs.plain import PlainRow


def answer_rows(answers: pa.Table, schema: Schema) -> list[dict[str, Any]]:
    """Return one object per row; raises ArithmeticError where a number is NaN or infinite."""
    columns: dict[str, list[Any]] = {}
    for name, column in zip(answers.column_names, answers.columns, strict=True):
        is_number = pa.types.is_floating(column.type)
        if is_number and not np.isfinite(column.drop_null().to_numpy()).all():
            raise ArithmeticError(f"a number in {name!r} that is not finite")
        plain = is_number and not column.null_count
        columns[name] = column.to_numpy().tolist() if plain else column.to_pylist()
    return _by_row(columns, schema)


def answer_plain_rows(
    rows: Sequence[PlainRow], answers: Mapping[str, NDArray[Any]], schema: Schema
) -> list[dict[str, Any]]:
    """The same of rows that were read without a table."""
    columns = {name: [row[name] for row in rows] for name in (schema.unit, schema.time)}
    for name in in_order(tuple(answers), schema):
        values = answers[name]
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ArithmeticError(f"a number in {name!r} that is not finite")
        columns[name] = values.tolist()
    return _by_row(columns, schema)


def _by_row(columns: dict[str, list[Any]], schema: Schema) -> list[dict[str, Any]]:
    ordered = {"unit": columns.pop(schema.unit), "time": columns.pop(schema.time)}
    for key, names in (("shares", schema.share_columns), ("spend", schema.spend_columns)):
        by_channel = [columns.pop(name) for name in names]
        rows = zip(*by_channel, strict=True)
        ordered[key] = [dict(zip(schema.channels, row, strict=True)) for row in rows]
    ordered |= columns
    return [
        dict(zip(ordered, row, strict=True)) for row in zip(*ordered.values(), strict=True)
    ]
