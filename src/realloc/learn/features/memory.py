"""What is remembered of each unit: its last rows, so that tomorrow can look back without the whole
log.

Units are matched by id, never by code: codes of two logs have nothing to do with each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Integers, Mask
from realloc.learn.row_arrays import RowArrays
from realloc.logs import Logs
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.columns import decoded, is_text


@dataclass(frozen=True, eq=False)
class HistoryRows(RowArrays):
    """What happened: codes of units, microseconds, outcomes (NaN: not known yet), budgets, shares
    (m, K).
    """

    codes: Integers
    times: Integers
    outcome: Floats
    budget: Floats
    shares: Floats

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class Memory:
    """Ids of units in order, and their rows by unit and time: one per time, with its outcome."""

    units: pa.Array  # text or int64
    rows: HistoryRows

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Memory):
            return NotImplemented
        mine = self.to_arrays()
        others = other.to_arrays()
        same = (np.array_equal(mine[name], others[name]) for name in mine)
        return mine.keys() == others.keys() and all(same)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  arrays have none either

    @cached_property
    def places(self) -> dict[int | str, int]:
        """The code of each id.

        Made once: a service asks for single rows of half a million units.
        """
        return {unit: code for code, unit in enumerate(self.units.to_pylist())}

    @cached_property
    def starts(self) -> Integers:
        """Where each unit's rows start, and the end of all."""
        return np.searchsorted(self.rows.codes, np.arange(len(self.units) + 1))

    def of(self, codes: Integers) -> HistoryRows:
        """The rows of some units."""
        counts = self.starts[codes + 1] - self.starts[codes]
        shift = self.starts[codes] - (np.cumsum(counts) - counts)
        return self.rows.take(np.repeat(shift, counts) + np.arange(counts.sum()))

    def remember(self, logs: Logs, most: int) -> "Memory":
        """With the rows of `logs`, at most the last `most` of each unit.

        A row that comes again replaces the old one.
        """
        known = np.isfinite(logs.outcome)
        rows, fresh = _rows_of(logs if known.all() else logs.take(known), self)
        words = pa.concat_arrays([self.units, fresh])
        order = pc.sort_indices(words).to_numpy()
        place = np.argsort(order)
        both = self.rows.join(rows)
        both = replace(both, codes=place[both.codes])
        rank = np.arange(len(both)) >= len(self.rows)
        by_time, is_new = _sort(both, rank)
        is_last = np.append(is_new[1:], True)[
            : len(both)
        ]  # of the highest rank at its time
        kept = both.take(by_time[is_last])
        ends = np.searchsorted(kept.codes, kept.codes, side="right")
        return Memory(
            words.take(pa.array(order)), kept.take(np.arange(len(kept)) >= ends - most)
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As plain arrays: text ids as one UTF-8 text and where each of them ends."""
        arrays: dict[str, NDArray[Any]] = dict(vars(self.rows))
        if not is_text(self.units.type):
            return arrays | {"ids": self.units.to_numpy()}
        text, ends = join_text(self.units)
        return arrays | {"id_text": text, "id_ends": ends}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Memory":
        """The memory that `to_arrays` gave."""
        rows = HistoryRows(**{part.name: arrays[part.name] for part in fields(HistoryRows)})
        if "ids" in arrays:
            units = pa.array(arrays["ids"])
        else:
            units = split_text(arrays["id_text"], arrays["id_ends"])
        sizes = {len(values) for values in vars(rows).values()}
        codes = rows.codes
        in_order = not np.any(np.diff(codes) < 0)
        if len(codes):
            in_order &= bool(0 <= codes[0] <= codes[-1] < len(units))
        if len(sizes) > 1 or not in_order:
            raise LogError(
                f"Expected a memory of one row each of {len(units)} units in order, got arrays "
                "that disagree."
            )
        return cls(units, rows)


def join_text(texts: pa.Array) -> tuple[NDArray[np.uint8], Integers]:
    """Texts as one UTF-8 text and where each of them ends."""
    parts = [text.encode() for text in texts.to_pylist()]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), ends


def split_text(text: NDArray[np.uint8], ends: Integers) -> pa.Array:
    """The inverse of `join_text`."""
    blob = text.tobytes()
    starts = np.append(0, ends)[:-1]
    pieces = zip(starts.tolist(), ends.tolist(), strict=True)
    return pa.array([blob[start:end].decode() for start, end in pieces], pa.string())


def nothing(logs: Logs) -> Memory:
    """A memory for logs such as these, still empty."""
    none = np.empty(0, np.int64)
    shares = np.empty((0, len(logs.schema.channels)))
    return Memory(
        _ids(logs)[:0],
        HistoryRows(
            none,
            none,
            np.empty(0),
            np.empty(0),
            shares,
        ),
    )


@dataclass(frozen=True, eq=False)
class UnitHistory:
    """Rows by unit and time, one per time.

    Asked row i stands at `end[i]`; its unit's earlier rows start at `first[i]`.
    """

    rows: HistoryRows
    first: Integers
    end: Integers
    is_fresh: Mask  # the memory does not know the unit


def look_back(logs: Logs, memory: Memory) -> UnitHistory:
    """For every row of `logs` the rows of its unit at strictly earlier times, in the logs and in
    memory.

    Where both have a row of the same time, the one with an outcome counts, and the log's if both
    have one.
    """
    today, _ = _rows_of(logs, memory)
    codes = np.unique(today.codes)
    remembered = memory.of(codes[codes < len(memory.units)])
    both = remembered.join(today)
    rank = np.where(
        np.arange(len(both)) < len(remembered), 1, 2 * np.isfinite(both.outcome)
    )
    order, is_new = _sort(both, rank)
    group = np.empty(len(both), np.int64)
    group[order] = np.cumsum(is_new) - 1
    rows = both.take(order[np.append(is_new[1:], True)[: len(both)]])
    begins = np.searchsorted(rows.codes, rows.codes)
    end = group[len(remembered) :]
    return UnitHistory(rows, begins[end], end, today.codes >= len(memory.units))


def _sort(rows: HistoryRows, rank: NDArray[Any]) -> tuple[Integers, Mask]:
    """The order by unit, time and rank, and where a new unit or time starts in it; ties never go by
    position.
    """
    order = np.lexsort((rank, rows.times, rows.codes))
    codes = rows.codes[order]
    times = rows.times[order]
    same = (codes[1:] == codes[:-1]) & (times[1:] == times[:-1])
    if np.any(same & (rank[order][1:] == rank[order][:-1])):
        keys = (*rows.shares.T, rows.budget, rows.outcome, rank, rows.times, rows.codes)
        order = np.lexsort(keys)
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = ~same
    return order, is_new


def _rows_of(logs: Logs, memory: Memory) -> tuple[HistoryRows, pa.Array]:
    """The rows of a log, with codes into the memory's units followed by the fresh ones."""
    ids = _ids(logs)
    codes = logs.unit_codes
    if len(logs) and ids.type != memory.units.type:
        was = "text" if is_text(memory.units.type) else "whole numbers"
        got = "text" if is_text(ids.type) else "whole numbers"
        raise LogError(
            f"Expected ids that are {was} in column {logs.schema.unit!r} as in training, got "
            f"{got}. "
            "The history of every unit would be lost."
        )
    used = np.flatnonzero(np.bincount(codes, minlength=len(ids)))
    known = memory.places
    fresh: dict[int | str, int] = {}
    place = np.full(len(ids), -1)
    place[used] = [
        known[unit] if unit in known else fresh.setdefault(unit, len(known) + len(fresh))
        for unit in ids.take(pa.array(used)).to_pylist()
    ]
    has_outcome = logs.schema.outcome in logs.table.column_names
    outcome = logs.outcome if has_outcome else np.full(len(logs), np.nan)
    times = logs.times.astype("datetime64[us]").astype(np.int64)
    rows = HistoryRows(place[codes], times, outcome, logs.budget, logs.shares)
    return rows, pa.array(list(fresh), memory.units.type)


def _ids(logs: Logs) -> pa.Array:
    units = logs.units
    return (
        decoded(units, logs.schema.unit) if is_text(units.type) else units.cast(pa.int64())
    )
