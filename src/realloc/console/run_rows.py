"""The rows of a run in an embedded engine: pages of a selection, counts, exports, one row.

What a page needs of the Parquet files of the log is copied into memory once per run; a filter
then takes milliseconds. Names of columns are quoted here and values are parameters, so that
nothing from an address or a log is ever part of a statement.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base.errors import LedgerError
from realloc.base.simplex import Floats
from realloc.base.validation import check_known, from_table
from realloc.console.selection import RowSelection
from realloc.logs import Logs, Schema
from realloc.report.run import WHERE
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.ledger.rows import FINGERPRINT, INPUTS, unpack_inputs

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "256MB",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
AT_ONCE = 20_000  # rows of an export
SAME = 5e-4  # of a share
MOST_VALUES = 40  # of a category that are offered as a filter
MOST_HISTORY = 60  # entries of the log that a unit's history goes back


@dataclass(frozen=True, eq=False)
class RowPage:
    """One page of a selection, and whether there is more on either side."""

    rows: list[dict[str, Any]]
    earlier: bool
    later: bool


class RunRows:
    """The rows of one run."""

    def __init__(self, ledger: Ledger, entry: Entry) -> None:
        self.ledger = ledger
        self.entry = entry
        self.schema = from_table(Schema, entry.schema, WHERE)
        self.files = [str(ledger.folder(entry.number) / s.name) for s in entry.segments]
        rows = [segment.rows for segment in entry.segments]
        self._starts: list[int] = np.cumsum([0, *rows])[:-1].tolist()
        self.categories = tuple(
            name
            for name in self.schema.features or ()
            if name in (self.schema.categorical or ())
        )
        self._engine = duckdb.connect(":memory:", config=SETTINGS)
        try:
            self._load()
        except (duckdb.Error, OSError, pa.ArrowException) as problem:
            raise LedgerError(
                f"Cannot read the rows of run {entry.run!r}: a file of entry {entry.number} is "
                "missing or damaged. `realloc audit` names it."
            ) from problem

    def _load(self) -> None:
        if not self.files:
            raise LedgerError(f"Expected rows in run {self.entry.run!r}, got none.")
        there = set(pq.read_schema(self.files[0]).names)
        amounts = [f"{INPUTS}.{_quoted(name)}" for name in self.schema.channels]
        total = " + ".join(amounts)
        budget = f"{INPUTS}.{_quoted(self.schema.budget)}" if self.schema.budget else total
        limited = "coalesce(limited_by, '')" if "limited_by" in there else "''"
        columns = [
            "(?::BIGINT[])[list_position(?::VARCHAR[], filename)] + file_row_number AS row",
            "unit, time, coalesce(moved, false) AS moved, reason, support",
            f"{limited} AS limited_by, coalesce(gain, 0) AS gain",
            "coalesce(gain_lower, 0) AS gain_lower",
            f"{budget} AS budget, coalesce(moved_share, 0) * ({budget}) AS money",
        ]
        for k, name in enumerate(self.schema.share_columns):
            columns.append(f"{amounts[k]} / nullif({total}, 0) AS now{k}")
            columns.append(f"{_quoted(name)} AS to{k}")
        for place, name in enumerate(self.categories):
            columns.append(f"{INPUTS}.{_quoted(name)} AS category{place}")
        self._engine.execute(
            f"CREATE TABLE rows AS SELECT {', '.join(columns)} "
            "FROM read_parquet(?, union_by_name = true, filename = true, "
            "file_row_number = true)",
            [self._starts, self.files, self.files],
        )

    def page(self, selection: RowSelection) -> RowPage:
        """Rows in the order of the selection, from its place on."""
        where, values = self._where(selection)
        key = f"coalesce({_column(selection.order)}, {_least(selection.order)})"
        backwards = selection.before is not None
        place = selection.before if backwards else selection.after
        ascending = selection.up != backwards
        if place is not None:
            sign = ">" if ascending else "<"
            further = "<" if backwards else ">"
            here = f"(SELECT {key} FROM rows WHERE row = ?)"
            where += f" AND ({key} {sign} {here} OR ({key} = {here} AND row {further} ?))"
            values = [*values, place, place, place]
        way = "ASC" if ascending else "DESC"
        rows = self._ask(
            f"SELECT * FROM rows WHERE {where} ORDER BY {key} {way}, "
            f"row {'DESC' if backwards else 'ASC'} LIMIT ?",
            [*values, selection.size + 1],
        )
        more = len(rows) > selection.size
        rows = rows[: selection.size]
        if backwards:
            return RowPage(rows[::-1], earlier=more, later=True)
        return RowPage(rows, earlier=place is not None, later=more)

    def totals(self, selection: RowSelection) -> dict[str, Any]:
        """How many rows a selection has, how many move, and what that brings."""
        where, values = self._where(selection)
        return self._ask(
            "SELECT count(*) AS rows, coalesce(sum(moved::int), 0)::bigint AS moved, "
            "coalesce(sum(gain), 0) AS gain, coalesce(sum(money), 0) AS money "
            f"FROM rows WHERE {where}",
            values,
        )[0]

    def row(self, number: int) -> dict[str, Any]:
        """One row by its place in the input."""
        found = self._ask("SELECT * FROM rows WHERE row = ? LIMIT 1", [number])
        if not found:
            raise LedgerError(f"Expected a row of run {self.entry.run!r}, got {number}.")
        return found[0]

    def find(self, unit: str, time: Any) -> dict[str, Any] | None:
        """The row of a unit and time."""
        found = self._ask(
            "SELECT * FROM rows WHERE unit = ? AND time = ? LIMIT 1", [unit, time]
        )
        return found[0] if found else None

    def find_unit(self, unit: str) -> dict[str, Any] | None:
        """A unit's last row."""
        found = self._ask(
            "SELECT * FROM rows WHERE unit = ? ORDER BY time DESC LIMIT 1", [unit]
        )
        return found[0] if found else None

    def neighbours(
        self, number: int, selection: RowSelection
    ) -> tuple[int | None, int | None]:
        """The rows before and after one in the order of a selection."""
        one = selection.at(after=None, before=number, size=1)
        other = selection.at(after=number, before=None, size=1)
        found = [self.page(place).rows for place in (one, other)]
        before, after = ([row["row"] for row in rows] for rows in found)
        return (before[0] if before else None, after[0] if after else None)

    def limits(self) -> list[str]:
        """Every rule that bound a row, the most frequent first."""
        rows = self._ask(
            "SELECT limited_by FROM rows WHERE limited_by <> '' "
            "GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ?",
            [MOST_VALUES],
        )
        return [row["limited_by"] for row in rows]

    def values_of(self, column: str) -> list[str]:
        """Values of a category, the most frequent first."""
        name = f"category{self.categories.index(column)}"
        rows = self._ask(
            f"SELECT {name}::varchar AS value FROM rows WHERE {name} IS NOT NULL "
            "GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ?",
            [MOST_VALUES],
        )
        return [row["value"] for row in rows]

    def export(self, selection: RowSelection) -> Iterator[pa.RecordBatch]:
        """Every row of a selection with the names of a recommendation, batch by batch."""
        where, values = self._where(selection)
        columns = [f"unit AS {_quoted(self.schema.unit)}", "time", "row"]
        for k, name in enumerate(self.schema.channels):
            columns.append(f"now{k} AS {_quoted(f'now_{name}')}")
        for k, name in enumerate(self.schema.share_columns):
            columns.append(f"to{k} AS {_quoted(name)}")
        columns += ["budget", "money", "moved", "gain", "gain_lower", "support", "reason"]
        columns.append("limited_by")
        found = self._engine.cursor().sql(
            f"SELECT {', '.join(columns)} FROM rows WHERE {where} ORDER BY row",
            params=values,
        )
        return iter(found.to_arrow_reader(AT_ONCE))

    def inputs(self, number: int) -> Logs:
        """What a row was decided from."""
        struct = self._of_file(number, INPUTS)
        if not struct[0].is_valid:
            raise LedgerError(
                f"Row {number} of run {self.entry.run!r} could not be read when it was decided, "
                "so there is nothing to ask a model about."
            )
        return unpack_inputs(struct, self.schema)

    def some(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Rows by their places, with the digests of what they were decided from."""
        found = self._ask(
            "SELECT * FROM rows WHERE row IN (SELECT unnest(?)) ORDER BY row", [[*numbers]]
        )
        digests: dict[int, bytes | None] = {}
        for file, start in zip(self.files, self._starts, strict=True):
            rows = self._ask(
                f"SELECT file_row_number AS row, {FINGERPRINT} AS digest "
                "FROM read_parquet(?, file_row_number = true) "
                "WHERE file_row_number IN (SELECT unnest(?))",
                [file, [number - start for number in numbers if number >= start]],
            )
            digests |= {row["row"] + start: row["digest"] for row in rows}
        for row in found:
            digest = digests.get(row["row"])
            row["input"] = digest.hex() if digest else ""
        return found

    def _of_file(self, number: int, name: str) -> pa.ChunkedArray:
        """A column of the log at one row, in the type that it has there."""
        last = int(np.searchsorted(self._starts, number, side="right")) - 1
        file = self.files[last]
        found = self._engine.cursor().sql(
            f"SELECT {name} FROM read_parquet(?, file_row_number = true) "
            "WHERE file_row_number = ?",
            params=[file, number - self._starts[last]],
        )
        column = found.to_arrow_table()[name]
        return column.cast(pq.read_schema(file).field(name).type)

    def history(self, unit: str) -> list[dict[str, Any]]:
        """A unit's rows of this run and the runs before it, by time; of each time the newest."""
        entries = [
            entry
            for entry in map(self.ledger.entry, self.ledger.numbers())
            if entry.segments and entry.number <= self.entry.number
        ][-MOST_HISTORY:]
        found: dict[Any, dict[str, Any]] = {}
        for entry in entries:
            if entry.schema["channels"] != self.entry.schema["channels"]:
                continue
            for row in self._history_of(entry, unit):
                found[row["time"]] = row
        return [found[time] for time in sorted(found)]

    def _history_of(self, entry: Entry, unit: str) -> list[dict[str, Any]]:
        files = [str(self.ledger.folder(entry.number) / s.name) for s in entry.segments]
        amounts = [f"{INPUTS}.{_quoted(name)}" for name in self.schema.channels]
        total = " + ".join(amounts)
        shares = [f"{amount} / nullif({total}, 0)" for amount in amounts]
        shown = ", ".join(f"{share} AS now{k}" for k, share in enumerate(shares))
        try:
            return self._ask(
                f"SELECT time, moved, gain, {shown} FROM "
                "read_parquet(?, union_by_name = true) "
                "WHERE unit = ? AND time IS NOT NULL",
                [files, unit],
            )
        except duckdb.Error:
            return []

    def mixes(self, row: dict[str, Any]) -> tuple[Floats, Floats]:
        """Current and recommended shares of a row (K,)."""
        now = np.array(
            [row[f"now{k}"] for k in range(len(self.schema.channels))], dtype=np.float64
        )
        to = np.array(
            [row[f"to{k}"] for k in range(len(self.schema.channels))], dtype=np.float64
        )
        return now, to

    def _where(self, selection: RowSelection) -> tuple[str, list[Any]]:
        parts: list[str] = ["true"]
        values: list[Any] = []
        if selection.prefix:
            parts.append("starts_with(unit, ?)")
            values.append(selection.prefix)
        if selection.reason:
            parts.append("reason = ?")
            values.append(selection.reason)
        if selection.limit:
            parts.append("limited_by = ?")
            values.append(selection.limit)
        if selection.channel:
            parts.append(self._by_channel(selection))
        if selection.column:
            place = self.categories.index(selection.column)
            parts.append(f"category{place}::varchar = ?")
            values.append(selection.value)
        return " AND ".join(parts), values

    def _by_channel(self, selection: RowSelection) -> str:
        channels = self.schema.channels
        check_known("`channel`", selection.channel, channels, "the address")
        k = channels.index(selection.channel)
        change = f"(to{k} - now{k})"
        if selection.sign == "up":
            return f"{change} > {SAME}"
        if selection.sign == "down":
            return f"{change} < -{SAME}"
        if selection.sign == "same":
            return f"abs({change}) <= {SAME}"
        return f"abs({change}) > {SAME}"

    def _ask(self, statement: str, values: list[Any]) -> list[dict[str, Any]]:
        cursor = self._engine.cursor()
        cursor.execute(statement, values)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _column(order: str) -> str:
    return (
        order if order in ("unit", "gain", "gain_lower", "budget", "support") else "money"
    )


def _least(order: str) -> str:
    return "''" if order == "unit" else "-1e300"
