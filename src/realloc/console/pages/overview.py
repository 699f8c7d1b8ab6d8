"""Overview: what to do with the newest run, and why."""

from urllib.parse import urlencode

from realloc.base.numbers import percent, plain, signed
from realloc.console.screen import Screen, Visit
from realloc.console.source import ConsoleSource
from realloc.decide.types import MOVED, REASONS
from realloc.draw import Bullets, VerdictBox
from realloc.report.run import RunFigures
from realloc.report.run_pieces import money_pieces, moves_table, run_tiles
from realloc.report.verdict import judge
from realloc.storage.ledger.entry import Entry

RUNS = 8  # shown
LIMITS = 8
Linked = tuple[str, tuple[str, ...]]  # an address, and the cells of a row


def overview(visit: Visit) -> Screen:
    """The newest run, or the one that the address names."""
    source = visit.source
    entry = source.run(visit.text("run"))
    figures = source.figures(entry)
    verdict = judge(figures)
    run = entry.run
    tiles = run_tiles(figures).tiles
    addresses = (
        "/items?" + urlencode({"run": run, "order": "gain"}),
        "/items?" + urlencode({"run": run, "reason": "moved"}),
        "/items?" + urlencode({"run": run}),
        "/monitor",
    )
    return Screen(
        title="Overview",
        menu="/",
        template="overview.html",
        subtitle=f"Run {run}, {when(entry)} UTC, {entry.rows:,} rows.",
        values={
            "run": entry,
            "channels": figures.schema.channels,
            "verdict": VerdictBox(verdict.text, verdict.tone),
            "fired": Bullets(verdict.fired) if verdict.fired else None,
            "alarms": alarms(source, figures),
            "tiles": list(zip(tiles, addresses, strict=True)),
            "flow": money_pieces(figures)[0],
            "reasons": _reasons(figures),
            "limits": _limits(figures),
            "biggest": moves_table(figures),
            "runs": runs_table(source.batches()[:RUNS]),
        },
    )


def when(entry: Entry) -> str:
    """The minute in which an entry was made."""
    return entry.made[:16].replace("T", " ")


def alarms(source: ConsoleSource, figures: RunFigures) -> Bullets | None:
    """What needs somebody now; None where nothing does."""
    fresh = source.freshness()
    texts: list[str] = []
    if fresh.problem:
        texts.append(fresh.problem)
    if fresh.frozen:
        texts.append(f"The store is frozen since {fresh.frozen}: every mix is kept.")
    if fresh.version is not None and figures.entry.version not in (None, fresh.version):
        texts.append(
            f"Version {fresh.version} is current, but this run was decided by version "
            f"{figures.entry.version}. Run `realloc recommend` again before you publish."
        )
    bad = figures.rows - figures.usable
    if bad:
        texts.append(f"{bad:,} rows could not be read; `realloc check` says why.")
    return Bullets(texts) if texts else None


def runs_table(entries: list[Entry]) -> list[Linked]:
    """Runs with what each of them did."""
    found: list[Linked] = []
    for entry in entries:
        logged = entry.source.get("figures", {})
        rate = logged.get("action_rate")
        gain = logged.get("gain")
        found.append(
            (
                "/?" + urlencode({"run": entry.run}),
                (
                    entry.run,
                    when(entry),
                    entry.kind,
                    "none (frozen)" if entry.version is None else str(entry.version),
                    f"{entry.rows:,}",
                    "not known" if rate is None else percent(rate),
                    "not known" if gain is None else signed(gain),
                ),
            )
        )
    return found


def _reasons(figures: RunFigures) -> list[Linked]:
    """Every reason with its rows, those that move first."""
    ordered = sorted(figures.reasons.items(), key=lambda pair: pair[0] not in MOVED)
    return [
        (
            "/items?" + urlencode({"run": figures.entry.run, "reason": reason}),
            (REASONS.get(reason, reason), f"{rows:,}", percent(rows / figures.rows)),
        )
        for reason, rows in ordered
    ]


def _limits(figures: RunFigures) -> list[Linked]:
    bound = list(figures.bindings.items())[:LIMITS]
    run = figures.entry.run
    return [
        (
            "/items?" + urlencode({"run": run, "limit": rule, "reason": reason}),
            (rule, REASONS.get(reason, reason), plain(rows)),
        )
        for (reason, rule), rows in bound
    ]
