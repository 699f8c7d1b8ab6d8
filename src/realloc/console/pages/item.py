"""One item: its mix, the evidence, what other shares would bring, its history."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np

from realloc.base.errors import ConfigError, ReallocError
from realloc.base.numbers import percent, plain, signed
from realloc.base.simplex import Floats
from realloc.console.pages.items import address, read_selection
from realloc.console.roles import REVIEW
from realloc.console.run_rows import RunRows
from realloc.console.screen import Screen, Visit, day, versioned
from realloc.console.whatif import AskedRow, WhatIf, as_constraints, spread_rest
from realloc.decide.types import MOVED, REASONS
from realloc.draw import (
    DataTable,
    Figure,
    MixRow,
    PagePiece,
    Series,
    Tile,
    Tiles,
    VerdictBox,
    mix_bars,
    time_series,
)
from realloc.logs import Logs
from realloc.model.explain import Explanation
from realloc.model.plots import triangle
from realloc.model.realloc import ReAlloc
from realloc.report.run_pieces import describe_change
from realloc.storage.ledger.entry import Entry

ROUNDING = 5e-3  # by which given percentages may miss a hundred


@dataclass(frozen=True)
class Slider:
    """One channel of the what-if: its share, today's, and what the logs support around that."""

    name: str
    value: str
    now: str
    low: str
    width: str
    said: str
    locked: bool


def item(visit: Visit) -> Screen:
    """The row that the address names by its place, or a unit's last one."""
    entry = visit.source.run(visit.text("run"))
    rows = visit.source.rows(entry)
    row = _find(visit, rows)
    number = int(row["row"])
    selection = read_selection(visit, rows)
    before, after = rows.neighbours(number, selection)
    values: dict[str, Any] = {
        "run": entry,
        "number": number,
        "back": address(entry, selection),
        "before": None if before is None else address(entry, selection, row=before),
        "after": None if after is None else address(entry, selection, row=after),
        "script": versioned("whatif.js"),
        "verdict": _verdict(rows, row),
        "tiles": _tiles(row),
        "figure": _bars(rows, row),
        "history": _history(rows, row),
        "may_review": visit.member.may(REVIEW),
        "problem": "",
        "evidence": None,
        "nearest": [],
        "transfers": None,
        "whatif": None,
    }
    try:
        values |= _ask_model(visit, entry, rows, row)
    except ReallocError as problem:
        values["problem"] = f"What the model knows cannot be shown. {problem}"
    return Screen(
        title=row["unit"][:120],
        menu="/items",
        template="item.html",
        subtitle=f"{day(row['time'])} · run {entry.run}, row {number:,}",
        values=values,
    )


def what_if(visit: Visit) -> dict[str, Any]:
    """The answer that the sliders show."""
    entry = visit.source.run(visit.text("run"))
    rows = visit.source.rows(entry)
    number = int(_find(visit, rows)["row"])
    asked = AskedRow.read(visit.source.model_of(entry), rows.inputs(number))
    found = asked.ask(read_shares(visit, asked.now))
    return {
        "headline": found.headline,
        "detail": found.detail,
        "tone": found.tone,
        "shares": [round(100 * share, 3) for share in found.shares.tolist()],
        "toml": as_constraints(asked.channels, found.shares),
    }


def read_shares(visit: Visit, now: Floats) -> Floats:
    """Shares (K,) from percentages; locked ones stay as given, the others fill what is left."""
    given = [visit.text(f"to{k}") for k in range(len(now))]
    if not any(given):
        return now
    shares = np.array([_percentage(text, now[k]) for k, text in enumerate(given)])
    locked = [k for k in range(len(now)) if visit.text(f"lock{k}")]
    if abs(shares.sum() - 1) <= ROUNDING:
        return shares / shares.sum()
    fixed = {k: float(shares[k]) for k in locked}
    if sum(fixed.values()) > 1 + ROUNDING:
        raise ConfigError(
            "Expected shares to keep that sum to at most 100 %, got "
            f"{percent(sum(fixed.values()))}. Keep fewer channels."
        )
    free = np.where([k in fixed for k in range(len(now))], 0.0, shares)
    mix = spread_rest(free, fixed)
    return mix / mix.sum()


def _percentage(text: str, now: float) -> float:
    if not text:
        return now
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ConfigError(f"Expected a share from 0 to 100 %, got {text[:20]!r}.")
    return value / 100


def _find(visit: Visit, rows: RunRows) -> dict[str, Any]:
    unit = visit.text("unit")
    if unit:
        found = rows.find_unit(unit)
        if found is None:
            raise ConfigError(f"Expected a unit of this run, got {unit[:80]!r}.")
        return found
    text = visit.text("row")
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise ConfigError(f"Expected a row of the run in the address, got {text[:40]!r}.")
    return rows.row(int(text))


def _verdict(rows: RunRows, row: dict[str, Any]) -> VerdictBox:
    words = REASONS.get(row["reason"], row["reason"])
    bound = f" Rule: {row['limited_by']}." if row["limited_by"] else ""
    if row["reason"] not in MOVED:
        return VerdictBox(f"Keep the mix: {words}.{bound}", "wait")
    change = describe_change(rows.schema.channels, *rows.mixes(row))
    return VerdictBox(f"Move: {change}.{bound}", "good")


def _tiles(row: dict[str, Any]) -> Tiles:
    moved = bool(row["moved"])
    budget = row["budget"]
    support = row["support"]
    return Tiles(
        (
            Tile("Expected gain", signed(row["gain"]) if moved else "none"),
            Tile(
                "At least",
                signed(row["gain_lower"]) if moved else "none",
                "95 % lower bound" if moved else "nothing moves",
            ),
            Tile(
                "Money moved",
                plain(row["money"]) if moved else "0",
                "budget not known" if budget is None else f"of {plain(budget)}",
            ),
            Tile("Support", "not known" if support is None else f"{support:.2f}"),
        )
    )


def _bars(rows: RunRows, row: dict[str, Any]) -> Figure:
    now, to = rows.mixes(row)
    if not (np.isfinite(now).all() and np.isfinite(to).all()):
        text = "The row could not be read, so its mix is not known."
        return mix_bars(rows.schema.channels, [], sentence=text)
    said = describe_change(rows.schema.channels, now, to) or "The mix stays as it is."
    shown = [MixRow("this item", now.tolist(), to.tolist())]
    return mix_bars(rows.schema.channels, shown, sentence=said)


def _ask_model(
    visit: Visit, entry: Entry, rows: RunRows, row: dict[str, Any]
) -> dict[str, Any]:
    """What only the model that decided knows."""
    model = visit.source.model_of(entry)
    logs = rows.inputs(int(row["row"]))
    told = model.explain(logs, row["unit"])
    shown = told.rows[0]
    found: dict[str, Any] = {
        "evidence": _evidence(told),
        "nearest": _nearest(rows, entry, shown["similar_rows"]),
        "transfers": told.pieces()[-1] if told.transfers else None,
        "whatif": _whatif(visit, AskedRow.read(model, logs)),
    }
    if len(rows.schema.channels) == 3:
        found["figure"] = _triangle(model, logs, rows, row)
    return found


def _triangle(model: ReAlloc, logs: Logs, rows: RunRows, row: dict[str, Any]) -> PagePiece:
    return triangle(model, logs, rows.mixes(row)[1][None])


def _evidence(told: Explanation) -> list[tuple[str, str]]:
    row = told.rows[0]
    best = "no move is better"
    if row["best_move"]:
        best = (
            f"{row['best_move']}: {signed(row['best_move_gain'])} "
            f"± {plain(row['best_move_error'])}"
        )
    return [
        ("Best first step, allowed or not", best),
        ("What bound the decision", row["limited_by"] or "no rule"),
        ("Logged moves like it", f"{row['similar_moves']:,}"),
        (
            "How near they are",
            f"{row['directional_support']:.2f} of 1 (directional support)",
        ),
        ("Calibrated on", row["calibration"]),
    ]


def _nearest(rows: RunRows, entry: Entry, text: str) -> list[tuple[str, str]]:
    """Nearest logged rows; those whose unit is in this run lead there."""
    found: list[tuple[str, str]] = []
    for label in filter(None, text.split("; ")):
        unit = label.rpartition("@")[0]
        there = rows.find_unit(unit)
        link = "/item?" + urlencode({"run": entry.run, "unit": unit}) if there else ""
        found.append((label, link))
    return found


def _whatif(visit: Visit, asked: AskedRow) -> dict[str, Any]:
    found: WhatIf = asked.ask(read_shares(visit, asked.now))
    sliders: list[Slider] = []
    for k, (low, high) in enumerate(asked.ranges()):
        name = asked.channels[k]
        sliders.append(
            Slider(
                name=name,
                value=f"{100 * found.shares[k]:.1f}",
                now=f"{100 * asked.now[k]:.1f}",
                low=f"{100 * low:.1f}",
                width=f"{100 * max(high - low, 0.004):.1f}",
                said=f"{name}: now {percent(float(asked.now[k]))}, supported from "
                f"{percent(low)} to {percent(high)}",
                locked=bool(visit.text(f"lock{k}")),
            )
        )
    return {
        "sliders": sliders,
        "headline": found.headline,
        "detail": found.detail,
        "tone": found.tone,
        "toml": as_constraints(asked.channels, found.shares),
        "shares": ",".join(f"{100 * share:.6f}" for share in found.shares.tolist()),
    }


def _history(rows: RunRows, row: dict[str, Any]) -> PagePiece:
    found = rows.history(row["unit"])
    times = np.array([one["time"] for one in found], dtype="datetime64[us]")
    series = [
        Series(
            name,
            times,
            np.array([one[f"now{k}"] for one in found], dtype=np.float64) * 100,
        )
        for k, name in enumerate(rows.schema.channels)
    ]
    if len(found) < 2:
        heads = ("time", *rows.schema.channels)
        cells = [
            (
                day(one["time"]),
                *(percent(one[f"now{k}"] or 0.0) for k in range(len(rows.schema.channels))),
            )
            for one in found
        ]
        note = "Later runs of this store will add to it."
        return DataTable(heads, cells, "Shares before each decision in the log", note)
    return time_series(series, "Shares before each decision in the log", "% of the budget")
