"""A window's states in a few numbers: per column where its values lie, so that later rows can be compared without the window.

Numbers are cut at the window's deciles, categories at their most frequent levels. How far each day of the window lies from
the whole window is kept with it: that is how far a day usually is, and what a later one is measured against.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs import Logs
from realloc.logs.divergence import divergence

BINS = 10
LEVELS = 20  # of a category that are counted by name
DAYS = 60  # at most so many periods of the window are compared with it
MOST_ROWS = 200_000
ROWS = "rows"

Summary = dict[str, Any]


def summary(logs: Logs) -> Summary:
    """What a version keeps of the window it has learned from; plain values for JSON, about 20 numbers a column.

    `{"rows", "units", "periods", "columns": {name: {"kind", "type" and "edges" or "levels", "parts", "usual", "group"}}}`
    """
    if len(logs) > MOST_ROWS:  # evenly over the window, which is sorted by unit and time
        logs = logs.take(np.unique(np.linspace(0, len(logs) - 1, MOST_ROWS).astype(np.int64)))
    periods, code = np.unique(logs.times.astype("datetime64[D]"), return_inverse=True)
    columns: dict[str, Any] = {}
    for name, group, values in columns_of(logs):
        told = _describe(values) | {"group": group}
        codes = place(told, values)
        told["parts"] = _parts(codes, told)
        told["usual"] = _usual(codes, code, len(periods), told)
        columns[name] = told
    return {ROWS: len(logs), "units": logs.unit_count, "periods": len(periods), "columns": columns}


def columns_of(logs: Logs) -> list[tuple[str, str, Any]]:
    """What is compared: the budget and every feature (state), and each channel's share (shares)."""
    found: list[tuple[str, str, Any]] = [
        ("budget", "state", np.log(np.maximum(logs.budget, 1e-300)))
    ]
    found += [(f"feature {name}", "state", logs.table[name]) for name in logs.features]
    shares = logs.shares
    return found + [
        (f"share {name}", "shares", shares[:, k]) for k, name in enumerate(logs.schema.channels)
    ]


def place(told: Summary, values: Any) -> NDArray[np.int64]:
    """The bin of each value; the last bin is for missing ones, the one before for levels that are not counted by name."""
    if told["kind"] == "category":
        return _place_words(told["levels"], values)
    numbers, edges = _numbers(values), np.array(told["edges"])
    return np.where(np.isnan(numbers), len(edges) + 1, np.searchsorted(edges, numbers, side="left"))


def bins(told: Summary) -> int:
    """How many bins a column has."""
    return len(told["levels"]) + 2 if told["kind"] == "category" else len(told["edges"]) + 2


def count(told: Summary, values: Any) -> NDArray[np.int64]:
    """How many values lie in each bin; counts of several batches add up."""
    return np.bincount(place(told, values), minlength=bins(told))


def _describe(values: Any) -> Summary:
    if isinstance(values, pa.ChunkedArray) and pa.types.is_dictionary(values.type):
        texts = values.cast(values.type.value_type).drop_null()
        found = texts.value_counts()
        pairs = sorted(
            zip(found.field(1).to_pylist(), found.field(0).to_pylist(), strict=True),
            key=lambda p: (-p[0], p[1]),
        )
        return {"kind": "category", "levels": [level for _, level in pairs[:LEVELS]]}
    numbers = _numbers(values)
    numbers = numbers[~np.isnan(numbers)]
    inner = (
        np.quantile(numbers, np.arange(1, BINS) / BINS, method="inverted_cdf")
        if len(numbers)
        else np.empty(0)
    )
    return {
        "kind": "number",
        "type": _type(values),
        "edges": [float(edge) for edge in np.unique(inner)],
    }


def _type(values: Any) -> str:
    """As what numbers were given: the service asks for the same."""
    if isinstance(values, pa.ChunkedArray) and pa.types.is_temporal(values.type):
        return "date"
    return (
        "flag"
        if isinstance(values, pa.ChunkedArray) and pa.types.is_boolean(values.type)
        else "number"
    )


def _numbers(values: Any) -> NDArray[np.float64]:
    """A column as float64, NaN where it is missing; dates count in days."""
    if not isinstance(values, pa.ChunkedArray):
        return np.asarray(values, dtype=np.float64)
    if pa.types.is_temporal(values.type):
        days = (
            values.cast(pa.timestamp("us"))
            .cast(pa.int64())
            .cast(pa.float64(), safe=False)
            .to_numpy()
            / 86_400e6
        )
        return np.where(values.is_null().to_numpy(), np.nan, days)
    return values.cast(pa.float64()).to_numpy().astype(np.float64)


def _place_words(levels: list[str], values: pa.ChunkedArray) -> NDArray[np.int64]:
    known = {level: code for code, level in enumerate(levels)}
    found = np.empty(len(values), dtype=np.int64)
    first = 0
    for chunk in values.chunks:
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        codes = np.array(
            [
                *(known.get(word, len(levels)) for word in coded.dictionary.to_pylist()),
                len(levels) + 1,
            ]
        )
        index = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
        found[first : first + len(chunk)] = codes[index]
        first += len(chunk)
    return found


def _parts(codes: NDArray[np.int64], told: Summary) -> list[float]:
    return [float(part) for part in np.bincount(codes, minlength=bins(told)) / max(len(codes), 1)]


def _usual(
    codes: NDArray[np.int64], period: NDArray[np.int64], periods: int, told: Summary
) -> float | None:
    """How far the periods of the window lie from the whole of it, beyond chance: the largest. None: there is only one."""
    if periods < 2:
        return None
    table = np.zeros((periods, bins(told)))
    np.add.at(table, (period, codes), 1)
    whole = table.sum(axis=0)
    chosen = np.unique(np.linspace(0, periods - 1, min(periods, DAYS)).astype(np.int64))
    return float(max(divergence(table[day], whole - table[day]).beyond for day in chosen))
