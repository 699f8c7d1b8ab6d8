"""Audit replay: from the inputs in the decision log and the version they name, the same decisions to the bit."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from realloc.base.errors import ReallocError
from realloc.base.numerics.blas import one_blas_thread
from realloc.base.validation import from_table
from realloc.batch.asked import Asked, Opened, open_asked
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import keep, tabulate
from realloc.logs import Logs, Schema
from realloc.logs.reading.read import Today
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.fingerprint import fingerprint
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.ledger.rows import FINGERPRINT, INPUTS, KEPT, unpack_inputs
from realloc.storage.store import Store

WHERE = "the decision log"
KEPT_BECAUSE = "kept"  # the reason why a service kept every mix, among the settings of its entries


@dataclass(frozen=True)
class Replay:
    """What came of deciding again on the rows of an entry."""

    entry: int
    run: str
    version: int | None
    rows: int  # that were decided again
    differ: int
    first: str | None = None  # the first row that differs, and in what
    problem: str | None = None  # why it could not be decided again


def audit(
    store: Store, ledger: Ledger, run: str | None = None, most_rows: int | None = None
) -> Iterator[Replay]:
    """Decide again on every entry, or on those of one run; `most_rows`: on so many rows of each, evenly spread."""
    for entry in ledger.entries():
        if run is None or entry.run == run:
            try:
                yield replay(store, ledger, entry, most_rows)
            except ReallocError as problem:
                yield Replay(entry.number, entry.run, entry.version, 0, 0, problem=str(problem))


def replay(store: Store, ledger: Ledger, entry: Entry, most_rows: int | None = None) -> Replay:
    """Decide again on the rows of an entry."""
    schema = from_table(Schema, entry.schema, WHERE)
    opened = _open(store, entry)
    together = bool(entry.settings.get("all_rows"))
    tables = ledger.read(entry)
    chosen = [pa.concat_tables(tables)] if together else tables
    if entry.settings.get("by_request"):  # rows of one request saw each other, and no others
        chosen = [part for table in chosen for part in _requests(table)]
    left = (
        None if together or most_rows is None else max(1, most_rows // max(len(entry.segments), 1))
    )
    rows = differ = 0
    first = None
    with one_blas_thread:
        for table in chosen:
            usable = _spread(table.filter(table[INPUTS].is_valid()), left)
            logs = unpack_inputs(usable[INPUTS], schema)
            wrong, told = _compare(usable, logs, _decide(opened, logs, entry))
            rows, differ, first = rows + len(logs), differ + wrong, first or told
    return Replay(entry.number, entry.run, entry.version, rows, differ, first)


def _open(store: Store, entry: Entry) -> Opened:
    if entry.settings.get("frozen", False) or KEPT_BECAUSE in entry.settings:
        return open_asked(Asked(store.path, None, frozen=True, allow_network=store.allow_network))
    decision = from_table(DecisionConfig, entry.settings["decision"], WHERE)
    constraints = from_table(Constraints, entry.settings["constraints"], WHERE)
    return open_asked(
        Asked(store.path, entry.version, decision, constraints, allow_network=store.allow_network)
    )


def _decide(opened: Opened, logs: Logs, entry: Entry) -> pa.Table:
    """The answers to rows that were read before."""
    keys = pa.table(
        {
            logs.schema.unit: logs.to_arrow()[logs.schema.unit],
            logs.schema.time: logs.table[logs.schema.time],
        }
    )
    today = Today(logs, np.arange(len(logs)), keys, ())
    kept = entry.settings.get(KEPT_BECAUSE)
    decision = (
        keep(logs, kept) if kept else opened.decide(logs, entry.settings.get("pools") or None)
    )
    return tabulate(today, decision, opened.decider.money_digits)


def _requests(table: pa.Table) -> list[pa.Table]:
    """The rows of each scoring call, in their order."""
    runs = np.array(table["run"].to_pylist(), dtype=np.str_)
    return [table.filter(pa.array(runs == run)) for run in dict.fromkeys(runs.tolist())]


def _compare(logged: pa.Table, logs: Logs, answers: pa.Table) -> tuple[int, str | None]:
    """How many rows differ in any bit, and the first of them."""
    different = np.array(
        [a != b for a, b in zip(fingerprint(logs), logged[FINGERPRINT].to_pylist(), strict=True)],
        dtype=bool,
    )
    names = [FINGERPRINT] if different.any() else []
    columns = [
        f"{kind}_{channel}" for kind in ("share", "spend") for channel in logs.schema.channels
    ]
    for name in (*columns, *KEPT):
        if name in logged.column_names and name in answers.column_names:
            apart = _bits(logged[name]) != _bits(answers[name])
            names += [name] if apart.any() else []
            different |= apart
    if not different.any():
        return 0, None
    row = int(np.argmax(different))
    told = f"row {logged['row'][row].as_py()} of unit {logged['unit'][row].as_py()!r} differs in {', '.join(names[:4])}"
    return int(different.sum()), told


def _bits(column: Any) -> Any:
    values = column.to_numpy()
    return (
        values.view(np.int64)
        if values.dtype == np.float64
        else values.astype(str)
        if values.dtype == object
        else values
    )


def _spread(table: pa.Table, most: int | None) -> pa.Table:
    if most is None or table.num_rows <= most:
        return table
    return table.take(
        pa.array(np.unique(np.linspace(0, table.num_rows - 1, most).astype(np.int64)))
    )
