"""What people decided about the rows of a run, as entries of the decision log.

An approval belongs to a run, unit, time, version, input, constraints and shares. Once a newer batch
is decided, another version is current or the store is frozen, it is out of date and publishes
nothing.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from realloc.console.roles import Member
from realloc.console.run_rows import RunRows
from realloc.console.source import ConsoleSource
from realloc.console.writes import note
from realloc.storage.ledger.entry import Entry

KIND = "review"
APPROVE = "approve"
REJECT = "reject"
EDIT = "edit"
VERDICTS = {APPROVE: "approved", REJECT: "rejected", EDIT: "edited"}
UNDO = "undo"


@dataclass(frozen=True, kw_only=True)
class Approval:
    """One person's word on one row."""

    row: int
    unit: str
    time: str
    verdict: str
    version: int | None
    input: str  # digest of what the row was decided from
    constraints: str  # digest of the rules
    shares: tuple[float, ...]  # recommended; of an edit those that were set instead
    who: str = ""
    why: str = ""
    entry: int = 0


def read_approvals(source: ConsoleSource, run: Entry) -> dict[int, Approval]:
    """The last word on every row of a run; what was undone is not there."""
    found: dict[int, Approval] = {}
    for entry in source.entries():
        told = entry.source
        if entry.kind != KIND or told.get("of_run") != run.run:
            continue
        for values in told["after"]["rows"]:
            own: dict[str, Any] = {**values, "shares": tuple(values["shares"])}
            found[values["row"]] = Approval(
                **own,
                who=told["who"],
                why=told["why"],
                entry=entry.number,
            )
        for row in told["after"].get("undone", ()):
            found.pop(row, None)
    return found


def decide_rows(
    source: ConsoleSource,
    rows: RunRows,
    numbers: Sequence[int],
    verdict: str,
    member: Member,
    why: str,
    shares: tuple[float, ...] | None = None,
) -> Entry:
    """Note somebody's word on rows; `shares`: those of an edit."""
    before = read_approvals(source, rows.entry)
    known = [before[number].verdict for number in numbers if number in before]
    made: list[dict[str, Any]] = []
    for row in rows.some(numbers):
        approval = Approval(
            row=row["row"],
            unit=row["unit"],
            time="" if row["time"] is None else row["time"].isoformat(),
            verdict=verdict,
            version=rows.entry.version,
            input=row["input"],
            constraints=digest_of(rows.entry),
            shares=shares or tuple(rows.mixes(row)[1].tolist()),
        )
        values = asdict(approval)
        made.append({k: v for k, v in values.items() if k not in ("who", "why", "entry")})
    what = f"{VERDICTS[verdict]} {len(made):,} rows"
    if len(made) == 1:
        what = f"{VERDICTS[verdict]} {made[0]['unit'][:80]}"
    return note(
        source,
        KIND,
        member,
        what=what,
        why=why,
        before={"verdicts": known},
        after={"rows": made},
        run=rows.entry.run,
    )


def undo_last(source: ConsoleSource, run: Entry, member: Member) -> Entry | None:
    """Take back the last thing that somebody decided about a run; None where there is nothing."""
    approvals = read_approvals(source, run)
    own = [one for one in approvals.values() if one.who == member.name]
    if not own:
        return None
    last = max(one.entry for one in own)
    rows = [one.row for one in own if one.entry == last]
    return note(
        source,
        KIND,
        member,
        what=f"took back entry {last} ({len(rows):,} rows)",
        why=UNDO,
        before={"entry": last},
        after={"rows": [], "undone": rows},
        run=run.run,
    )


def digest_of(entry: Entry) -> str:
    """The rules that a run was decided by, in sixteen characters."""
    text = json.dumps(entry.settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def why_out_of_date(source: ConsoleSource, run: Entry) -> list[str]:
    """Why approvals of a run publish nothing any more; empty where they still hold."""
    fresh = source.freshness()
    found: list[str] = []
    if fresh.problem:
        found.append(fresh.problem)
    if fresh.frozen:
        found.append(f"The store is frozen since {fresh.frozen}.")
    newest = source.run()
    if newest.run != run.run:
        found.append(f"Run {newest.run} was decided since.")
        if digest_of(newest) != digest_of(run):
            found.append("It was decided by other rules.")
    if fresh.version != run.version:
        found.append(
            f"Version {fresh.version} is current; the run was decided by version {run.version}."
        )
    return found
