"""Columns that may be results of the decision: by their names, unless their values say no."""

import numpy as np
import pyarrow as pa

from realloc.logs import names
from realloc.logs.reading import columns
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.source import Source
from realloc.logs.schema import Schema


def find_later(source: Source, schema: Schema, listed: list[str]) -> list[str]:
    """Columns named like results whose values do not speak against it.

    What never changes within a unit, such as an income index of a region, is no result of a period.
    """
    named = [name for name in listed if names.looks_later(name)]
    fixed = constant_within(source, schema.unit, named)
    return [name for name in named if name not in fixed]


def constant_within(source: Source, unit: str, listed: list[str]) -> list[str]:
    """Columns with one value in all rows of each unit, where units have several rows."""
    kinds = {name: source.columns.field(name).type for name in (unit, *listed)}
    plain = [name for name, kind in kinds.items() if _is_plain(kind)]
    listed = [name for name in listed if name in plain]
    if not listed or unit not in plain:
        return []
    words = {name: columns.Vocabulary(columns.MOST_CATEGORIES) for name in (unit, *listed)}
    first = {name: np.empty(0, np.int64) for name in listed}  # the first value of each unit
    constant = list(listed)
    rows = 0
    for piece in source.pieces([unit, *listed]):
        units = words[unit].encode(columns.decoded(piece.batch.column(unit), unit))
        rows += len(units)
        for name in list(constant):
            text = columns.decoded(piece.batch.column(name), name).cast(pa.string())
            values = words[name].encode(pc.if_else(pc.equal(text, ""), None, text))
            more = units.max(initial=-1) + 1 - len(first[name])
            known = np.append(first[name], np.full(max(more, 0), -1))
            given = (units >= 0) & (values >= 0)
            new = np.flatnonzero(given & (known[units] < 0))[::-1]
            known[units[new]] = values[new]
            first[name] = known
            if (known[units[given]] != values[given]).any():
                constant.remove(name)
        if not constant:
            return []
    known_units = words[unit].values
    several = known_units is not None and rows >= 1.5 * len(known_units)
    return [name for name in constant if several and (first[name] >= 0).any()]


def _is_plain(kind: pa.DataType) -> bool:
    simple = columns.is_text(kind) or columns.is_number(kind) or columns.is_time(kind)
    return simple or pa.types.is_boolean(kind)
