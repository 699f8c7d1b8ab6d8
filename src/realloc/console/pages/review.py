"""Review: one card at a time, or many by a filter; what was decided, taken back and out of date."""

from typing import Any
from urllib.parse import urlencode

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.numbers import percent, plain, signed
from realloc.base.validation import check_known
from realloc.console.approvals import (
    EDIT,
    VERDICTS,
    Approval,
    decide_rows,
    read_approvals,
    undo_last,
    why_out_of_date,
)
from realloc.console.pages.items import read_selection
from realloc.console.roles import REVIEW
from realloc.console.run_rows import RunRows
from realloc.console.screen import Screen, Visit, day, versioned
from realloc.console.selection import SIZES, RowSelection
from realloc.console.writes import MOST_COMMENT, need_role
from realloc.decide.types import MOVED
from realloc.draw import Bullets, MixRow, Tile, Tiles, mix_bars
from realloc.report.run_pieces import describe_change
from realloc.storage.ledger.entry import Entry

MOST_BULK = 2_000  # rows that one decision may hold
LAST = 12  # decisions that are shown


def review(visit: Visit) -> Screen:
    """The card of a row: the one that the address names, or the next without a decision."""
    entry = visit.source.run(visit.text("run"))
    rows = visit.source.rows(entry)
    approvals = read_approvals(visit.source, entry)
    selection = _moves(visit, rows)
    totals = rows.totals(selection)
    number = _wanted(visit, rows, selection, approvals)
    stale = why_out_of_date(visit.source, entry)
    values: dict[str, Any] = {
        "run": entry,
        "script": versioned("review.js"),
        "may_review": visit.member.may(REVIEW) and not stale,
        "role": visit.member.role,
        "stale": Bullets(stale) if stale else None,
        "tiles": _progress(entry, totals, approvals),
        "bulk": totals if 0 < totals["rows"] <= MOST_BULK else None,
        "totals": totals,
        "most": MOST_BULK,
        "reason": selection.reason,
        "selection": selection,
        "channel_choices": [(name, name) for name in rows.schema.channels],
        "card": None,
        "last": [
            (f"{one.unit[:60]}", VERDICTS[one.verdict], one.who, one.why)
            for one in sorted(approvals.values(), key=lambda one: -one.entry)[:LAST]
        ],
    }
    if number is not None:
        values |= _card(visit, rows, selection, number, approvals)
    return Screen(
        title="Review",
        menu="/review",
        template="review.html",
        subtitle=f"Run {entry.run}: moves by money, the largest first.",
        values=values,
    )


def decide(visit: Visit) -> str:
    """Note a word on one row, then show the next."""
    need_role(visit.member, REVIEW)
    entry, rows = _open(visit)
    number = _whole(visit.text("row"))
    verdict = visit.text("verdict")
    check_known("`verdict`", verdict, tuple(VERDICTS), "the form")
    row = rows.row(number)
    if row["reason"] not in MOVED and verdict != EDIT:
        raise ConfigError("This row keeps its mix, so there is nothing to approve.")
    shares = _edited(visit, rows) if verdict == EDIT else None
    comment = _comment(visit)
    if verdict == EDIT and not comment:
        raise ConfigError("Expected a reason for an edit, got none. Write one.")
    decide_rows(visit.source, rows, [number], verdict, visit.member, comment, shares)
    return "/review?" + urlencode({"run": entry.run, "channel": visit.text("channel")})


def decide_many(visit: Visit) -> str:
    """Note a word on every move of a filter that has none yet."""
    need_role(visit.member, REVIEW)
    entry, rows = _open(visit)
    verdict = visit.text("verdict")
    check_known("`verdict`", verdict, ("approve", "reject"), "the form")
    selection = _moves(visit, rows)
    expected = _whole(visit.text("expected"))
    if rows.totals(selection)["rows"] != expected or expected > MOST_BULK:
        raise ConfigError(
            f"Expected a filter of at most {MOST_BULK:,} rows that still holds {expected:,}. "
            "Load the page again."
        )
    done = read_approvals(visit.source, entry)
    numbers = [row["row"] for row in _all(rows, selection) if row["row"] not in done]
    if numbers:
        decide_rows(visit.source, rows, numbers, verdict, visit.member, _comment(visit))
    return "/review?" + urlencode({"run": entry.run})


def undo(visit: Visit) -> str:
    """Take back one's own last decision."""
    need_role(visit.member, REVIEW)
    entry, _ = _open(visit)
    if undo_last(visit.source, entry, visit.member) is None:
        raise ConfigError("You have decided nothing in this run that could be taken back.")
    return "/review?" + urlencode({"run": entry.run})


def _open(visit: Visit) -> tuple[Entry, RunRows]:
    """The run of a form, if it may still be reviewed."""
    entry = visit.source.run(visit.text("run"))
    stale = why_out_of_date(visit.source, entry)
    if stale:
        raise ConfigError(
            f"This run is out of date. {' '.join(stale)} Nothing was changed."
        )
    return entry, visit.source.rows(entry)


def _moves(visit: Visit, rows: RunRows) -> RowSelection:
    given = {**visit.query, "reason": "moved", "size": str(SIZES[-1])}
    for name in ("after", "before", "order", "up"):
        given.pop(name, None)
    return read_selection(visit, rows, given)


def _all(rows: RunRows, selection: RowSelection) -> list[dict[str, Any]]:
    """Every row of a selection."""
    found: list[dict[str, Any]] = []
    page = rows.page(selection)
    while page.rows:
        found += page.rows
        if not page.later:
            break
        page = rows.page(selection.at(after=page.rows[-1]["row"]))
    return found


def _wanted(
    visit: Visit, rows: RunRows, selection: RowSelection, approvals: dict[int, Approval]
) -> int | None:
    if visit.text("row"):
        return _whole(visit.text("row"))
    page = rows.page(selection)
    while page.rows:
        for row in page.rows:
            if row["row"] not in approvals:
                return int(row["row"])
        if not page.later:
            break
        page = rows.page(selection.at(after=page.rows[-1]["row"]))
    return None


def _progress(
    entry: Entry, totals: dict[str, Any], approvals: dict[int, Approval]
) -> Tiles:
    counts = dict.fromkeys(VERDICTS.values(), 0)
    for one in approvals.values():
        counts[VERDICTS[one.verdict]] += 1
    left = max(0, totals["rows"] - sum(counts.values()))
    tiles = [Tile(word.capitalize(), f"{number:,}") for word, number in counts.items()]
    note = f"of {totals['rows']:,} moves in this selection"
    return Tiles([*tiles, Tile("Left", f"{left:,}", note)])


def _card(
    visit: Visit,
    rows: RunRows,
    selection: RowSelection,
    number: int,
    approvals: dict[int, Approval],
) -> dict[str, Any]:
    row = rows.row(number)
    now, to = rows.mixes(row)
    known = np.isfinite(now).all() and np.isfinite(to).all()
    mixes = [MixRow("this item", now.tolist(), to.tolist())] if known else []
    before, after = rows.neighbours(number, selection)
    told = approvals.get(number)

    def link(place: int | None) -> str | None:
        if place is None:
            return None
        own = {"run": rows.entry.run, "row": place, "channel": selection.channel}
        return "/review?" + urlencode(own)

    return {
        "card": row,
        "number": number,
        "when": day(row["time"]),
        "figure": mix_bars(
            rows.schema.channels,
            mixes,
            f"{row['unit'][:80]}, {day(row['time'])}",
            describe_change(rows.schema.channels, now, to) if known else "",
        ),
        "facts": [
            ("Expected gain", signed(row["gain"])),
            ("At least", signed(row["gain_lower"])),
            ("Money moved", f"{plain(row['money'])} of {plain(row['budget'] or 0.0)}"),
            ("Support", f"{row['support'] or 0.0:.2f}"),
        ],
        "told": told,
        "word": VERDICTS[told.verdict] if told else "",
        "before": link(before),
        "after": link(after),
        "shares": ", ".join(percent(share) for share in told.shares) if told else "",
    }


def _edited(visit: Visit, rows: RunRows) -> tuple[float, ...]:
    try:
        given = np.array([float(part) / 100 for part in visit.text("shares").split(",")])
    except ValueError:
        given = np.zeros(0)
    wrong = len(given) != len(rows.schema.channels) or not np.isfinite(given).all()
    if wrong or given.min() < 0 or abs(given.sum() - 1) > 1e-3:
        raise ConfigError(
            "Expected a percentage for each channel that together make 100, got "
            f"{visit.text('shares')[:60]!r}."
        )
    return tuple((given / given.sum()).tolist())


def _comment(visit: Visit) -> str:
    return " ".join(visit.text("comment").split())[:MOST_COMMENT]


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise ConfigError(f"Expected a whole number in the form, got {text[:20]!r}.")
    return int(text)
