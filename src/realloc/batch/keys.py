"""Rows that repeat a unit and time: which one is right would be a guess, so none is moved.

A first scan holds 8 bytes a row, a hash of the key. Only where two hashes agree are keys compared.
In the long layout rows share a key, and a chunk may only begin where the key changes.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.simplex import Integers, Mask
from realloc.logs import Schema
from realloc.logs.reading.columns import NO_TIME, decoded, to_times
from realloc.logs.reading.source import Source

MIX = np.uint64(0x9E3779B97F4A7C15)
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Keys:
    """How many rows there are, which repeat a key, and whether any unit has several rows."""

    rows: int
    repeated: Integers
    units_repeat: bool
    # Long layout: the first row of each run of one key, and whether a key has several runs.
    runs: Integers | None = None
    scattered: bool = False

    def chunk_starts(self, size: int) -> list[int]:
        """The first row of each chunk of about `size` rows."""
        starts = np.arange(0, max(self.rows, 1), size)
        if self.runs is None or not self.rows:
            return starts.tolist()
        if self.scattered:
            return [0]
        return np.unique(
            self.runs[np.searchsorted(self.runs, starts, "right") - 1]
        ).tolist()


def scan_keys(opened: Source, schema: Schema, long: bool = False) -> Keys:
    """Read unit and time of every row once, and again where keys seem to repeat."""
    hashes = [np.empty(0, np.uint64)]
    units = [np.empty(0, np.uint64)]
    known = [np.empty(0, dtype=bool)]
    for unit, time in _keys(opened, schema):
        units.append(_hash(unit))
        known.append(unit.is_valid().to_numpy(zero_copy_only=False))
        hashes.append(units[-1] ^ (time.view(np.uint64) * MIX))
    of_rows = np.concatenate(hashes)
    of_units = np.concatenate(units)
    has_unit = np.concatenate(known)
    if long:
        runs = np.flatnonzero(np.append(True, of_rows[1:] != of_rows[:-1])[: len(of_rows)])
        runs_known = runs[has_unit[runs]]
        scattered = bool(len(_repeated(of_rows[runs_known])))
        repeat = bool(len(_repeated(of_units[runs_known])))
        return Keys(len(of_rows), np.empty(0, np.int64), repeat, runs, scattered)
    suspects = _repeated(of_rows)
    repeated = np.empty(0, np.int64)
    if len(suspects):
        repeated = _confirm(opened, schema, np.isin(of_rows, suspects))
    return Keys(len(of_rows), repeated, bool(len(_repeated(of_units[has_unit]))))


def _keys(opened: Source, schema: Schema) -> Iterator[tuple[pa.Array, Integers]]:
    for piece in opened.pieces([schema.unit, schema.time]):
        unit = piece.batch.column(schema.unit)
        names = decoded(unit, schema.unit).cast(pa.string())
        form = schema.read.date_format
        times = to_times(piece.batch.column(schema.time), schema.time, form)
        yield names, times.values


def _hash(unit: pa.Array) -> Hashes:
    """Python's hash, which differs between runs; rows with equal hashes are compared by key."""
    words = unit.to_pylist()
    return np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)


def _repeated(values: Hashes) -> Hashes:
    ordered = np.sort(values)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _confirm(opened: Source, schema: Schema, suspect: Mask) -> Integers:
    """Positions of rows whose keys repeat; rows without unit or time are bad for another reason."""
    first = 0
    keys: list[tuple[str, int]] = []
    positions: list[int] = []
    for unit, time in _keys(opened, schema):
        chosen = np.flatnonzero(suspect[first : first + len(time)])
        names = unit.take(pa.array(chosen)).to_pylist()
        for place, name, moment in zip(
            chosen.tolist(), names, time[chosen].tolist(), strict=True
        ):
            if name is not None and moment != NO_TIME:
                keys.append((name, moment))
                positions.append(first + place)
        first += len(time)
    counts = Counter(keys)
    repeated = [
        place for place, key in zip(positions, keys, strict=True) if counts[key] > 1
    ]
    return np.array(repeated, dtype=np.int64)
