"""Publish a reviewed run: approved mixes, and today's for every other row, as one file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from realloc.base import disk
from realloc.base.errors import ConfigError, LedgerError
from realloc.base.simplex import Floats, close, round_money
from realloc.base.validation import from_table
from realloc.batch.publish import ENDINGS, write_beside
from realloc.console.approvals import (
    APPROVE,
    EDIT,
    VERDICTS,
    Approval,
    read_approvals,
    why_out_of_date,
)
from realloc.console.roles import Member
from realloc.console.source import ConsoleSource
from realloc.console.writes import note
from realloc.logs import Schema
from realloc.report.run import WHERE, LoggedRows
from realloc.storage.ledger.entry import Entry, Segment, sha256_file

OPEN = "not reviewed"


@dataclass(frozen=True)
class Published:
    """What was written."""

    out: Path
    rows: int
    approved: int
    edited: int
    rejected: int
    entry: int  # of the decision log


def publish_approved(
    source: ConsoleSource, out: Path, who: str, why: str, run: str = ""
) -> Published:
    """Write the approved file and the entry of the decision log that says so."""
    if out.suffix not in ENDINGS:
        raise ConfigError(
            f"Expected `--out` to end in {' or '.join(ENDINGS)}, got {out.name!r}."
        )
    entry = source.run(run)
    stale = why_out_of_date(source, entry)
    if stale:
        raise LedgerError(
            f"Nothing was published: the approvals of run {entry.run} are out of date. "
            f"{' '.join(stale)} Review the newest run."
        )
    approvals = read_approvals(source, entry)
    if not any(one.verdict in (APPROVE, EDIT) for one in approvals.values()):
        raise LedgerError(
            f"Expected approved rows in run {entry.run}, but there are none. Review it with "
            "`realloc console --role review --token-file …`."
        )
    place = write_beside(_tables(source, entry, approvals), out)
    counts = dict.fromkeys(VERDICTS, 0)
    for one in approvals.values():
        counts[one.verdict] += 1
    logged = note(
        source,
        "publish",
        Member(who, "review"),
        what=f"published {counts[APPROVE] + counts[EDIT]:,} of {entry.rows:,} rows",
        why=why,
        before={"file": sha256_file(out) if out.is_file() else None},
        after={"file": sha256_file(place), "name": out.name, "counts": counts},
        run=entry.run,
    )
    disk.put_in_place(place, out)
    return Published(
        out, entry.rows, counts[APPROVE], counts[EDIT], counts["reject"], logged.number
    )


def _tables(
    source: ConsoleSource, entry: Entry, approvals: dict[int, Approval]
) -> list[pa.Table]:
    faults = source.ledger.verify()
    if faults:
        raise LedgerError(f"Nothing was published. {faults[0]}")
    schema = from_table(Schema, entry.schema, WHERE)
    digits = int(entry.settings.get("money_digits", 2))
    first = 0
    tables: list[pa.Table] = []
    for segment in entry.segments:
        rows = LoggedRows.read(source.ledger, entry, segment.name, schema)
        tables.append(_table(rows, segment, first, approvals, schema, digits))
        first += segment.rows
    return tables


def _table(
    rows: LoggedRows,
    segment: Segment,
    first: int,
    approvals: dict[int, Approval],
    schema: Schema,
    digits: int,
) -> pa.Table:
    shares = rows.now.copy()
    words = [OPEN] * segment.rows
    who = [""] * segment.rows
    for place in range(segment.rows):
        one = approvals.get(first + place)
        if one is None:
            continue
        words[place] = VERDICTS[one.verdict]
        who[place] = one.who
        if one.verdict in (APPROVE, EDIT) and rows.usable[place]:
            shares[place] = one.shares
    columns: dict[str, Any] = {
        schema.unit: rows.table["unit"],
        schema.time: rows.table["time"],
    }
    money = _spends(shares, rows, digits)
    for k, name in enumerate(schema.share_columns):
        columns[name] = pa.array(shares[:, k], mask=~rows.usable)
    for k, name in enumerate(schema.spend_columns):
        columns[name] = pa.array(money[:, k], mask=~rows.usable)
    return pa.table({**columns, "decision": words, "decided_by": who})


def _spends(shares: Floats, rows: LoggedRows, digits: int) -> Floats:
    """Money (n, K) that sums to each rounded budget; 0 where the row could not be read."""
    money = np.zeros_like(shares)
    usable = rows.usable
    exact = close(shares[usable])
    money[usable] = round_money(exact, rows.budget[usable], digits) / 10.0**digits
    return money
