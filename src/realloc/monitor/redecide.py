"""The audit of the decision log: decide again from its inputs and the version it names.

The same decision means the same reason, and numbers within 1e-9.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from realloc.base.errors import ReallocError
from realloc.base.validation import from_table
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import keep, tabulate
from realloc.logs import Logs, Schema
from realloc.logs.reading.read import Today
from realloc.serve.load import LoadedModel, ModelRequest, load_model
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.fingerprint import fingerprint
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.ledger.rows import FINGERPRINT, INPUTS, KEPT, unpack_inputs
from realloc.storage.store import Store

WHERE = "the decision log"
SAME = 1e-9  # of a number, or of 1 where it is smaller
# the reason why a service kept every mix, among the settings of its entries
KEPT_BECAUSE = "kept"


@dataclass(frozen=True)
class Redecided:
    """The result of deciding again on the rows of an entry."""

    entry: int
    run: str
    version: int | None
    rows: int  # that were decided again
    differ: int
    first: str | None = None  # the first row that differs, and in what
    problem: str | None = None  # why it could not be decided again


def audit(
    store: Store, ledger: Ledger, run: str | None = None, most_rows: int | None = None
) -> Iterator[Redecided]:
    """Decide again on every entry, or on those of one run.

    `most_rows`: on so many rows of each entry, evenly spread.
    """
    for entry in ledger.entries():
        # Entries without rows say who approved or published what: nothing to decide again.
        if entry.segments and run in (None, entry.run):
            try:
                yield redecide(store, ledger, entry, most_rows)
            except ReallocError as problem:
                yield Redecided(
                    entry.number, entry.run, entry.version, 0, 0, problem=str(problem)
                )


def redecide(
    store: Store, ledger: Ledger, entry: Entry, most_rows: int | None = None
) -> Redecided:
    """Decide again on the rows of an entry."""
    schema = from_table(Schema, entry.schema, WHERE)
    loaded = _load(store, entry)
    tables = ledger.read(entry)
    most = None
    if entry.settings.get("all_rows"):
        tables = [pa.concat_tables(tables)]
    elif most_rows is not None:
        most = max(1, most_rows // max(len(entry.segments), 1))
    if entry.settings.get(
        "by_request"
    ):  # rows of one request saw each other, and no others
        tables = [part for table in tables for part in _requests(table)]
    rows = 0
    differ = 0
    first = None
    for table in tables:
        usable = table.filter(table[INPUTS].is_valid())
        if most is not None and usable.num_rows > most:
            chosen = np.unique(np.linspace(0, usable.num_rows - 1, most).astype(np.int64))
            usable = usable.take(pa.array(chosen))
        logs = unpack_inputs(usable[INPUTS], schema)
        wrong, where = _compare(usable, logs, _decide(loaded, logs, entry))
        rows += len(logs)
        differ += wrong
        first = first or where
    return Redecided(entry.number, entry.run, entry.version, rows, differ, first)


def _load(store: Store, entry: Entry) -> LoadedModel:
    request = ModelRequest(store.path, allow_network=store.allow_network, frozen=True)
    if not entry.settings.get("frozen", False) and KEPT_BECAUSE not in entry.settings:
        request = ModelRequest(
            store.path,
            entry.version,
            *rules_of(entry),
            allow_network=store.allow_network,
        )
    return load_model(request)


def rules_of(entry: Entry) -> tuple[DecisionConfig, Constraints]:
    """The rules that an entry was decided by."""
    return (
        from_table(DecisionConfig, entry.settings["decision"], WHERE),
        from_table(Constraints, entry.settings["constraints"], WHERE),
    )


def _decide(loaded: LoadedModel, logs: Logs, entry: Entry) -> pa.Table:
    """The answers to rows that were read before."""
    schema = logs.schema
    keys = pa.table(
        {schema.unit: logs.to_arrow()[schema.unit], schema.time: logs.table[schema.time]}
    )
    today = Today(logs, np.arange(len(logs)), keys, ())
    kept = entry.settings.get(KEPT_BECAUSE)
    if kept:
        decision = keep(logs, kept)
    else:
        decision = loaded.decide(logs, entry.settings.get("pools") or None)
    return tabulate(today, decision, loaded.money_digits)


def _requests(table: pa.Table) -> list[pa.Table]:
    """The rows of each scoring call, in their order."""
    runs = np.array(table["run"].to_pylist(), dtype=np.str_)
    return [table.filter(pa.array(runs == run)) for run in dict.fromkeys(runs.tolist())]


def _compare(logged: pa.Table, logs: Logs, answers: pa.Table) -> tuple[int, str | None]:
    """How many rows differ by more than rounding, and the first of them."""
    prints = np.array(fingerprint(logs), dtype=object)
    different = prints != np.array(logged[FINGERPRINT].to_pylist(), dtype=object)
    names = [FINGERPRINT] if different.any() else []
    for name in (*logs.schema.share_columns, *logs.schema.spend_columns, *KEPT):
        if name in logged.column_names and name in answers.column_names:
            one = logged[name].to_numpy()
            other = answers[name].to_numpy()
            apart = one.astype(str) != other.astype(str)
            if one.dtype == np.float64:
                near = np.abs(one - other) <= SAME * np.maximum(1.0, np.abs(one))
                apart = ~(near | (np.isnan(one) & np.isnan(other)))
            names += [name] if apart.any() else []
            different |= apart
    if not different.any():
        return 0, None
    row = int(np.argmax(different))
    unit = logged["unit"][row].as_py()
    place = f"row {logged['row'][row].as_py()} of unit {unit!r}"
    return int(different.sum()), f"{place} differs in {', '.join(names[:4])}"
