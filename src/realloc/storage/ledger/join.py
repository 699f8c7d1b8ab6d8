"""Decisions joined to their outcomes, by unit and time: what was advised, applied, and came out."""

from typing import Any

import numpy as np
import pyarrow as pa

from realloc.base.errors import LedgerError
from realloc.logs import Logs
from realloc.logs.reading.arrow import compute as pc
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.ledger.rows import FINGERPRINT, INPUTS

FOLLOWED = 0.01  # moved share between advice and deed below which the advice was followed


def join(ledger: Ledger, outcomes: Logs, run: str | None = None) -> pa.Table:
    """Join the newest decision on each unit and time, or those of one run, to the outcomes.

    Columns: those of the log but the inputs, the `outcome`, guardrails by name, `applied_<channel>`
    (shares that were really set), and `followed`: whether they are the advised ones.
    """
    decisions = _newest(ledger, run)
    joined = decisions.join(_facts(outcomes), ["unit", "time"], join_type="inner")
    joined = joined.sort_by([("run", "ascending"), ("row", "ascending")])
    apart = np.zeros(joined.num_rows)  # L1 distance of advised and applied shares
    schema = outcomes.schema
    for name in schema.share_columns:
        advised = joined[name].to_numpy()
        apart += np.abs(advised - joined[_applied(name)].to_numpy())
    return joined.append_column("followed", pa.array(apart / 2 <= FOLLOWED))


def _newest(ledger: Ledger, run: str | None) -> pa.Table:
    """Usable decisions; of several on one unit and time the last that was made."""
    dataset = ledger.dataset()
    names = [name for name in dataset.schema.names if name not in (INPUTS, FINGERPRINT)]
    table = dataset.to_table(columns=names)
    table = table.filter(pc.not_equal(table["reason"], "bad_input"))
    table = table.set_column(names.index("run"), "run", table["run"].cast(pa.string()))
    if run is not None:
        table = table.filter(pc.equal(table["run"], run))
        if not table.num_rows:
            raise LedgerError(
                f"Expected decisions of run {run!r} in {str(ledger.path)!r}, but there are none."
            )
    table = table.append_column("place", pa.array(np.arange(table.num_rows)))
    last = table.group_by(["unit", "time"]).aggregate([("place", "max")])
    return table.take(last["place_max"]).drop_columns(["place"])


def _facts(outcomes: Logs) -> pa.Table:
    schema = outcomes.schema
    unit = outcomes.table[schema.unit]
    columns: dict[str, Any] = {
        "unit": unit.cast(unit.type.value_type).cast(pa.string()),
        "time": outcomes.table[schema.time].cast(pa.timestamp("us")),
        "outcome": pa.array(outcomes.outcome),
    }
    columns |= {name: pa.array(outcomes.guardrail(name)) for name in schema.guardrails}
    for k, name in enumerate(schema.share_columns):
        columns[_applied(name)] = pa.array(outcomes.shares[:, k])
    return pa.table(columns)


def _applied(share: str) -> str:
    return "applied_" + share.removeprefix("share_")
