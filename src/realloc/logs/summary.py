"""A window in a few numbers a column, so that later rows can be compared without the window.

Numbers are cut at the window's deciles, categories at their most frequent levels. How far each day
of the window lies from the whole window is kept, too: a later day is measured against that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from realloc.base.simplex import Floats, Integers
from realloc.logs.divergence import divergence
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.table import Logs, as_floats

BINS = 10
LEVELS = 20  # of a category that are counted by name
DAYS = 60  # at most so many periods of the window are compared with it
MOST_ROWS = 200_000


@dataclass(frozen=True)
class ColumnSummary:
    """Where a column's values lie: between `edges`, or at the `levels` of a category.

    The last bin is for missing values, the one before it for large numbers or other levels.
    """

    group: str  # state or shares
    type: str  # number, date, flag or text
    edges: list[float] = field(default_factory=list[float])
    levels: list[str] = field(default_factory=list[str])
    parts: list[float] = field(
        default_factory=list[float]
    )  # of the window's rows in each bin
    # Largest divergence of a period beyond chance; None: a single one.
    usual: float | None = None

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) + len(self.levels) + 2

    def count(self, values: pa.ChunkedArray) -> Integers:
        """How many values lie in each bin; counts of several batches add up."""
        return np.bincount(self.place(values), minlength=self.bins)

    def place(self, values: pa.ChunkedArray) -> Integers:
        """The bin of each value."""
        if self.type == "text":
            levels = pa.array(self.levels, pa.string())
            known = pc.index_in(values.cast(pa.string()), value_set=levels)
            bins = pc.fill_null(known, len(levels)).to_numpy()
            missing = values.is_null().to_numpy()
        else:
            numbers = as_floats(values)
            bins = np.searchsorted(self.edges, numbers, side="left")
            missing = np.isnan(numbers)
        return np.where(missing, self.bins - 1, bins)


@dataclass(frozen=True)
class WindowSummary:
    """What a version keeps of the window it has learned from, about 20 numbers a column."""

    rows: int
    units: int
    periods: int
    columns: dict[str, ColumnSummary]

    def to_json(self) -> dict[str, Any]:
        """As plain values, for the version's record."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "WindowSummary":
        """From the plain values of a record."""
        columns = {
            name: ColumnSummary(**column) for name, column in plain["columns"].items()
        }
        return cls(plain["rows"], plain["units"], plain["periods"], columns)


def summary(logs: Logs) -> WindowSummary:
    """Summarise what is compared: the budget, every feature and every share."""
    if len(logs) > MOST_ROWS:  # evenly over the window, which is sorted by unit and time
        logs = logs.take(_evenly(len(logs), MOST_ROWS))
    periods, period = np.unique(logs.times.astype("datetime64[D]"), return_inverse=True)
    columns: dict[str, ColumnSummary] = {}
    for name, group, values in columns_of(logs):
        column = _cut(group, values)
        table = np.zeros((len(periods), column.bins))
        np.add.at(table, (period, column.place(values)), 1)
        columns[name] = replace(
            column,
            parts=(table.sum(axis=0) / max(len(logs), 1)).tolist(),
            usual=_usual(table),
        )
    return WindowSummary(len(logs), logs.unit_count, len(periods), columns)


def columns_of(logs: Logs) -> Iterator[tuple[str, str, pa.ChunkedArray]]:
    """What is compared: name, group (state or shares) and values of each column."""
    log_budget = np.log(np.maximum(logs.budget, 1e-300))
    yield "budget", "state", pa.chunked_array([log_budget])
    for name in logs.features:
        yield f"feature {name}", "state", logs.table[name]
    shares = logs.shares
    for k, name in enumerate(logs.schema.channels):
        yield f"share {name}", "shares", pa.chunked_array([shares[:, k]])


def _cut(group: str, values: pa.ChunkedArray) -> ColumnSummary:
    """The bins of a column, without what lies in them."""
    if pa.types.is_dictionary(values.type):
        counts = values.cast(pa.string()).drop_null().value_counts().to_pylist()
        counts.sort(key=lambda pair: (-pair["counts"], pair["values"]))
        levels = [pair["values"] for pair in counts[:LEVELS]]
        return ColumnSummary(group, "text", levels=levels)
    kind = "number"
    if pa.types.is_temporal(values.type):
        kind = "date"
    elif pa.types.is_boolean(values.type):
        kind = "flag"
    numbers = as_floats(values)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return ColumnSummary(group, kind)
    deciles = np.quantile(numbers, np.arange(1, BINS) / BINS, method="inverted_cdf")
    return ColumnSummary(group, kind, edges=np.unique(deciles).tolist())


def _usual(table: Floats) -> float | None:
    """How far periods lie from the whole window, beyond chance: the largest of a sample of them."""
    periods = len(table)
    if periods < 2:
        return None
    whole = table.sum(axis=0)
    days = [table[day] for day in _evenly(periods, DAYS)]
    return max(divergence(day, whole - day).beyond for day in days)


def _evenly(size: int, most: int) -> Integers:
    """At most so many positions, spread evenly from the first to the last."""
    positions = np.linspace(0, size - 1, min(size, most))
    return np.unique(positions.astype(np.int64))
