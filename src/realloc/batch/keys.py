"""Rows that name the same unit and time twice: which of them is right would be a guess, so none of them is moved.

A first look holds 8 bytes a row: a hash of the key. Only where two hashes agree the keys themselves are compared.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs import Schema
from realloc.logs.reading.columns import NO_TIME, decoded, is_text, to_times
from realloc.logs.reading.source import Piece, Source

MIX = np.uint64(0x9E3779B97F4A7C15)
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Keys:
    """How many rows there are, which of them repeat a key, and whether any unit stands in more than one row."""

    rows: int
    repeated: NDArray[np.int64]
    units_repeat: bool


def look_at_keys(opened: Source, schema: Schema) -> Keys:
    """Read unit and time of every row once, and again where keys seem to repeat."""
    hashes, units = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    for unit, time in _keys(opened, schema):
        named = _hash(unit)
        units.append(named[unit.is_valid().to_numpy(zero_copy_only=False)])
        hashes.append(named ^ (time.view(np.uint64) * MIX))
    found, names = np.concatenate(hashes), np.concatenate(units)
    suspects = _repeated(found)
    repeated = _confirm(opened, schema, found, suspects) if len(suspects) else np.empty(0, np.int64)
    return Keys(len(found), repeated, bool(len(_repeated(names))))


def _keys(opened: Source, schema: Schema) -> Iterator[tuple[pa.Array, NDArray[np.int64]]]:
    for piece in opened.pieces([schema.unit, schema.time]):
        yield (
            _names(piece, schema),
            to_times(piece.batch.column(schema.time), schema.time).values,
        )


def _names(piece: Piece, schema: Schema) -> pa.Array:
    column = piece.batch.column(schema.unit)
    return (
        decoded(column, schema.unit) if is_text(column.type) else decoded(column).cast(pa.string())
    )


def _hash(unit: pa.Array) -> Hashes:
    """Of Python's own, which differs between runs; that two rows agree is checked on the keys themselves."""
    words = unit.to_pylist()
    return np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)


def _repeated(values: Hashes) -> Hashes:
    ordered = np.sort(values)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _confirm(opened: Source, schema: Schema, hashes: Hashes, suspects: Hashes) -> NDArray[np.int64]:
    """Positions of rows whose very keys repeat; rows without a unit or time are bad for another reason."""
    rows, first = np.isin(hashes, suspects), 0
    keys: list[tuple[str, int]] = []
    positions: list[int] = []
    for unit, time in _keys(opened, schema):
        chosen = np.flatnonzero(rows[first : first + len(time)])
        names = unit.take(pa.array(chosen)).to_pylist()
        for place, name, moment in zip(chosen.tolist(), names, time[chosen].tolist(), strict=True):
            if name is not None and moment != NO_TIME:
                keys.append((name, moment))
                positions.append(first + place)
        first += len(time)
    counts = Counter(keys)
    return np.array(
        [place for place, key in zip(positions, keys, strict=True) if counts[key] > 1],
        dtype=np.int64,
    )
