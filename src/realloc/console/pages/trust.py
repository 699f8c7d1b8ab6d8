"""Versions, monitor, decision log and evaluations: what to trust, and why."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.numbers import counted, percent, plain
from realloc.console.pages.overview import runs_table, when
from realloc.console.roles import ADMIN
from realloc.console.screen import Screen, Visit
from realloc.draw import (
    Bullets,
    DataTable,
    PagePiece,
    Paragraph,
    Part,
    Series,
    Tile,
    Tiles,
    VerdictBox,
    time_series,
)
from realloc.report.compare import compare_versions, difference_pieces
from realloc.report.learned import learned_pieces, windows_table
from realloc.report.rows import sample_rows
from realloc.storage.ledger.entry import Entry

COMPARED = 500  # rows of a run that two versions are compared on
ENTRIES = 100  # of the log, on a page
MOST_FILE = 4 * 2**20  # bytes of an evaluation
COLUMNS = 12  # whose drift is shown
TONES = {
    "launch": "good",
    "test small": "wait",
    "go_on": "wait",
    "do not launch": "bad",
    "keep_control": "bad",
    "no_verdict": "bad",
}


def versions(visit: Visit) -> Screen:
    """What served when; two versions side by side; roll back."""
    source = visit.source
    history = source.store.history()
    current = source.freshness().version
    pieces: list[PagePiece] = []
    one, other = visit.text("one"), visit.text("other")
    if one and other:
        pieces += _compare(visit, _whole(one), _whole(other))
    rows = [
        (
            "/versions?" + urlencode({"look": version.number}),
            (
                f"Version {version.number}{' (current)' if version.number == current else ''}",
                version.created[:16].replace("T", " "),
                version.windows[-1].last[:10],
                f"{version.windows[-1].rows:,}",
                f"model of version {version.restores}" if version.restores else "",
            ),
        )
        for version in reversed(history)
    ]
    looked = visit.text("look")
    if looked:
        model, record = source.model(_whole(looked))
        pieces.append(windows_table(record))
        pieces += learned_pieces(model)[:1]
    return Screen(
        title="Versions",
        menu="/versions",
        template="versions.html",
        subtitle=f"{counted(len(history), 'version')} kept.",
        pieces=pieces,
        values={
            "rows": rows,
            "numbers": [(str(v.number), str(v.number)) for v in reversed(history)],
            "current": current,
            "one": one,
            "other": other,
            "may_roll_back": visit.member.may(ADMIN) and len(history) > 1,
        },
    )


def _compare(visit: Visit, one: int, other: int) -> list[PagePiece]:
    source = visit.source
    logs = sample_rows(source.ledger, source.run(), COMPARED)
    found = compare_versions(source.model(one), source.model(other), logs)
    title = f"Version {one} and version {other} on {found.rows:,} rows of the newest run"
    return [Part(title, difference_pieces(found))]


def monitor(visit: Visit) -> Screen:
    """Runs over time: action rate, support, drift, age."""
    entries = [entry for entry in visit.source.entries() if "figures" in entry.source]
    if not entries:
        text = (
            "No batch has been decided yet, so there is nothing to watch. "
            "Run `realloc recommend`."
        )
        return Screen(title="Monitor", menu="/monitor", pieces=[Paragraph(text, "missing")])
    last = entries[-1].source["figures"]
    pieces: list[PagePiece] = [
        _watch_tiles(last),
        _drift(last),
        _course(entries, "action_rate", "Rows moved", "% of rows"),
        _course(entries, "support_coverage", "Current mixes that the logs support", "%"),
        Paragraph(
            "Realised gains need outcomes: `realloc monitor --store … --logs window.parquet` joins "
            "them to the decision log.",
            "note",
        ),
    ]
    return Screen(
        title="Monitor",
        menu="/monitor",
        subtitle=f"{counted(len(entries), 'batch run')} in the decision log.",
        pieces=pieces,
    )


def _watch_tiles(last: dict[str, Any]) -> Tiles:
    age = last.get("age") or {}
    coverage = last.get("support_coverage")
    drifted = (last.get("drift") or {}).get("drifted")
    return Tiles(
        (
            Tile("Age of the model", f"{age.get('days', 0.0):.1f} days", "in the last run"),
            Tile(
                "Current mixes supported", _known(coverage), "by the logs it learned from"
            ),
            Tile(
                "Columns that drifted",
                "not known" if drifted is None else str(len(drifted)),
                "against the training window",
                "wait" if drifted else "",
            ),
            Tile(
                "Rows that could not be read",
                _known(last.get("bad_rows_share")),
                "in the last run",
            ),
        )
    )


def _drift(last: dict[str, Any]) -> PagePiece:
    drift = last.get("drift")
    if not drift:
        text = "Drift is not known: the run holds no row that could be compared."
        return Paragraph(text, "missing")
    names = set(drift["drifted"])
    worst = sorted(drift["columns"].items(), key=lambda pair: -pair[1])[:COLUMNS]
    cells = [
        (
            name,
            f"{psi:.3f}",
            "further than usual" if name in names else "within what is usual",
        )
        for name, psi in worst
    ]
    changes = [
        f"{one['name']}: {one['change']}"
        for one in (drift.get("state"), drift.get("shares"))
        if one and one.get("change")
    ]
    table = DataTable(("column", "PSI", "against the training window"), cells)
    return Part("Drift of the last run", [*([Bullets(changes)] if changes else []), table])


def _course(entries: list[Entry], name: str, title: str, axis: str) -> PagePiece:
    values = [entry.source["figures"].get(name) for entry in entries]
    times = [entry.made[:19] for entry in entries]
    drawn = Series(
        title,
        np.array(times, dtype="datetime64[s]"),
        np.array([np.nan if v is None else 100 * v for v in values], dtype=np.float64),
    )
    return time_series([drawn], title, axis)


def log(visit: Visit) -> Screen:
    """Every entry of the decision log, the newest first; and its chain, verified."""
    entries = visit.source.entries()
    pieces: list[PagePiece] = []
    if visit.text("verify"):
        faults = visit.source.ledger.verify()
        if faults:
            pieces += [VerdictBox("The decision log was changed.", "bad"), Bullets(faults)]
        else:
            text = (
                f"The decision log is whole: all {len(entries):,} entries and their files."
            )
            pieces.append(VerdictBox(text, "good"))
    shown = list(reversed(entries))[:ENTRIES]
    return Screen(
        title="Decision log",
        menu="/log",
        template="log.html",
        subtitle=f"{len(entries):,} entries.",
        pieces=pieces,
        values={
            "runs": runs_table([entry for entry in shown if entry.segments]),
            "writes": [describe_write(entry) for entry in shown if not entry.segments],
        },
    )


def describe_write(entry: Entry) -> tuple[str, ...]:
    """An entry without rows: who did what, and why."""
    source = entry.source
    what = source.get("what", entry.kind)
    return (
        f"{entry.number:,}",
        when(entry),
        entry.kind,
        str(source.get("who") or "not known"),
        str(what),
        str(source.get("why") or ""),
    )


def evaluations(visit: Visit) -> Screen:
    """Evaluations and A/B readouts that lie as JSON in the folder of runs."""
    folder = visit.source.runs
    if folder is None:
        text = (
            "Start the console with `--runs folder` and write evaluations there: "
            "`realloc evaluate … --json > folder/evaluation.json`, "
            "`realloc abtest … --json > folder/test.json`."
        )
        return Screen(
            title="Evaluations", menu="/evaluations", pieces=[Paragraph(text, "missing")]
        )
    files = sorted(folder.glob("*.json"), key=lambda path: path.name)
    pieces: list[PagePiece] = []
    for path in files:
        pieces.append(Part(path.stem, read_evaluation(path)))
    if not files:
        text = (
            f"The folder {str(folder)!r} holds no evaluation yet. Write one: "
            "`realloc evaluate … --json`."
        )
        pieces.append(Paragraph(text, "missing"))
    return Screen(
        title="Evaluations",
        menu="/evaluations",
        subtitle=f"{counted(len(files), 'file')} in {folder.name}.",
        pieces=pieces,
    )


def read_evaluation(path: Path) -> list[PagePiece]:
    """What `realloc evaluate --json` or `realloc abtest --json` wrote."""
    try:
        if path.stat().st_size > MOST_FILE:
            raise ValueError("too long")
        told = json.loads(path.read_text(encoding="utf-8"))
        return _readout(told) if "decision" in told else _evaluation(told)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        text = (
            f"{path.name!r} is not what `realloc evaluate --json` or `realloc abtest --json` "
            "writes. Write it again."
        )
        return [Paragraph(text, "missing")]


def _evaluation(told: dict[str, Any]) -> list[PagePiece]:
    verdict = str(told["verdict"])
    pieces: list[PagePiece] = [
        VerdictBox(f"{verdict.capitalize()}.", TONES.get(verdict, "wait")),
        Bullets([str(text) for text in told["reasons"]]),
    ]
    for section in told["sections"]:
        inner: list[PagePiece] = [
            Paragraph(str(text), "missing") for text in section.get("missing", ())
        ]
        inner += [Paragraph(str(text)) for text in section.get("lines", ())]
        if section.get("rows"):
            cells = [tuple(map(str, row)) for row in section["rows"]]
            inner.append(DataTable(tuple(map(str, section["heads"])), cells))
        pieces.append(Part(str(section["title"]), inner))
    return pieces


def _readout(told: dict[str, Any]) -> list[PagePiece]:
    metrics = told["metrics"]
    heads = tuple(metrics[0]) if metrics else ()
    cells = [tuple(_cell(metric[head]) for head in heads) for metric in metrics]
    return [
        VerdictBox(str(told["verdict"]), TONES.get(str(told["decision"]), "wait")),
        DataTable(heads, cells, "Effects"),
        *(Paragraph(str(note), "note") for note in told["notes"]),
    ]


def _cell(value: Any) -> str:
    if value is None:
        return "not known"
    return plain(value) if isinstance(value, float) else str(value)


def _known(part: float | None) -> str:
    return "not known" if part is None else percent(part)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text)):
        raise ConfigError(f"Expected the number of a version, got {text[:20]!r}.")
    return int(text)
