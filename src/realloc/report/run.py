"""What a run of the decision log did: money, flows, gains, reasons, biggest moves.

Files are read one by one, so that memory does not grow with the run.
"""

import heapq
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from realloc.base.simplex import Floats, close
from realloc.base.validation import from_table
from realloc.decide.totals import GainSum, money_flows
from realloc.decide.types import MOVED
from realloc.logs import Schema
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.ledger.rows import INPUTS

WHERE = "the decision log"
BIGGEST = 10
BATCH = "batch"
NEEDED = ("unit", "time", "moved", "gain", "gain_lower", "support", "moved_share", "reason")
GAIN_COLUMNS = ("gain", "gain_error", "common_error")
OPTIONAL = ("limited_by", "gain_error", "common_error")


@dataclass(frozen=True, eq=False)
class LoggedMove:
    """One decision of the log, with the shares that it was made from."""

    unit: str
    time: str
    now: Floats  # (K,) shares
    recommended: Floats
    money: float  # that changes hands
    gain: float
    gain_lower: float
    support: float


@dataclass(frozen=True, eq=False, kw_only=True)
class RunFigures:
    """A run in a few numbers; what is not known is None."""

    entry: Entry
    schema: Schema
    rows: int
    usable: int
    moved: int
    now: Floats  # (K,) money by channel
    flows: Floats  # (K, K) money
    gain: float
    total: GainSum | None  # None: the run was logged without the errors of its gains
    reasons: dict[str, int]  # the most frequent first
    bindings: dict[tuple[str, str], int]  # rows by reason and the rule that bound them
    gains: Floats  # of moved rows
    biggest: tuple[LoggedMove, ...]

    @property
    def money(self) -> float:
        """All of it."""
        return float(self.now.sum())

    @property
    def moved_money(self) -> float:
        """What changes hands."""
        return float(self.flows.sum())

    @property
    def recommended(self) -> Floats:
        """Money by channel as recommended (K,)."""
        return self.now - self.flows.sum(axis=1) + self.flows.sum(axis=0)

    @property
    def logged(self) -> dict[str, Any]:
        """What the run wrote about itself: drift, age, broken limits; empty for a service."""
        return self.entry.source.get("figures", {})


def newest_run(ledger: Ledger) -> Entry | None:
    """The newest batch of the log; without any, the newest entry of a service."""
    newest: Entry | None = None
    for number in reversed(ledger.numbers()):
        entry = ledger.entry(number)
        if entry.kind == BATCH:
            return entry
        newest = newest or (entry if entry.segments else None)
    return newest


def figures_of_run(ledger: Ledger, entry: Entry) -> RunFigures:
    """Read a run's rows and add up."""
    schema = from_table(Schema, entry.schema, WHERE)
    K = len(schema.channels)
    sums = _Sums(np.zeros(K), np.zeros((K, K)), GainSum(), Counter(), Counter(), [], [])
    usable = 0
    for segment in entry.segments:
        rows = LoggedRows.read(ledger, entry, segment.name, schema)
        usable += int(rows.usable.sum())
        sums.add(rows)
    largest = sorted(sums.biggest, key=lambda pair: -pair[0])
    return RunFigures(
        entry=entry,
        schema=schema,
        rows=entry.rows,
        usable=usable,
        moved=sum(sums.reasons[reason] for reason in MOVED),
        now=sums.now,
        flows=sums.flows,
        gain=sums.gain,
        total=sums.total,
        reasons=dict(sums.reasons.most_common()),
        bindings=dict(sums.bindings.most_common()),
        gains=np.concatenate(sums.gains) if sums.gains else np.zeros(0),
        biggest=tuple(move for _, _, move in largest),
    )


@dataclass(frozen=True, eq=False)
class LoggedRows:
    """The rows of one file of the log, with current and recommended shares."""

    table: pa.Table
    usable: NDArray[np.bool_]
    now: Floats  # (n, K); NaN where the row could not be read
    recommended: Floats
    budget: Floats

    @classmethod
    def read(cls, ledger: Ledger, entry: Entry, name: str, schema: Schema) -> "LoggedRows":
        """Read what figures need of a file; its digest is left to `Ledger.verify`."""
        file = pq.ParquetFile(ledger.folder(entry.number) / name)
        amounts = [f"{INPUTS}.{channel}" for channel in schema.channels]
        budget = [] if schema.budget is None else [f"{INPUTS}.{schema.budget}"]
        shares = [*schema.share_columns]
        there = set(file.schema_arrow.names)
        further = [name for name in OPTIONAL if name in there]
        table = file.read(columns=[*NEEDED, *further, *shares, *amounts, *budget])
        inputs = table[INPUTS].combine_chunks()
        given = np.stack([_floats(inputs.field(name)) for name in schema.channels], axis=1)
        usable = inputs.is_valid().to_numpy(zero_copy_only=False)
        given[~usable] = np.nan
        money = given.sum(axis=1)
        if schema.budget is not None:
            money = np.where(usable, _floats(inputs.field(schema.budget)), np.nan)
        now = np.full_like(given, np.nan)
        now[usable] = close(given[usable])
        advised = np.stack([_floats(table[name]) for name in shares], axis=1)
        return cls(table, usable, now, advised, money)

    def column(self, name: str) -> Floats:
        """A column of numbers."""
        return _floats(self.table[name])

    def move(self, row: int) -> LoggedMove:
        """One row."""
        values = self.table.slice(row, 1).to_pylist()[0]
        moved = float(values["moved_share"]) * float(self.budget[row])
        return LoggedMove(
            unit=str(values["unit"]),
            time=_time(values["time"]),
            now=self.now[row],
            recommended=self.recommended[row],
            money=moved,
            gain=float(values["gain"]),
            gain_lower=float(values["gain_lower"]),
            support=float(values["support"]),
        )


@dataclass(eq=False)
class _Sums:
    now: Floats
    flows: Floats
    total: GainSum | None
    reasons: Counter[str]
    bindings: Counter[tuple[str, str]]
    gains: list[Floats]
    biggest: list[tuple[float, int, LoggedMove]]
    gain: float = 0.0

    def add(self, rows: LoggedRows) -> None:
        names = rows.table.column_names
        reasons = rows.table["reason"].to_pylist()
        bound = (
            rows.table["limited_by"].to_pylist()
            if "limited_by" in names
            else [""] * len(reasons)
        )
        self.reasons.update(reasons)
        self.bindings.update(
            pair
            for pair in zip(reasons, bound, strict=True)
            if pair[1] and pair[0] not in MOVED
        )
        moved = (
            rows.table["moved"].to_numpy(zero_copy_only=False).astype(bool) & rows.usable
        )
        budget = rows.budget[moved]
        change = (rows.recommended[moved] - rows.now[moved]) * budget[:, None]
        self.now += np.nansum(rows.now * rows.budget[:, None], axis=0)
        self.flows += money_flows(change)
        gain = rows.column("gain")
        self.gain += float(np.nansum(gain))
        self.gains.append(gain[moved])
        if self.total is not None:
            known = {"gain_error", "common_error"} <= set(names)
            self.total = (
                self.total + GainSum.of(*map(rows.column, GAIN_COLUMNS)) if known else None
            )
        money = np.where(moved, rows.column("moved_share") * rows.budget, 0.0)
        for row in np.argsort(-money, kind="stable")[:BIGGEST].tolist():
            if money[row] > 0 and (
                len(self.biggest) < BIGGEST or money[row] > self.biggest[0][0]
            ):
                ordered = (
                    float(money[row]),
                    -len(self.gains) * 10**9 - row,
                    rows.move(row),
                )
                if len(self.biggest) < BIGGEST:
                    heapq.heappush(self.biggest, ordered)
                else:
                    heapq.heapreplace(self.biggest, ordered)


def _floats(column: Any) -> Floats:
    return np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _time(value: Any) -> str:
    text = value.isoformat()
    return text.removesuffix("T00:00:00")
