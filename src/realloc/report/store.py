"""The report of a store: the newest run, then the model behind it, then the store's versions."""

from pathlib import Path

from realloc.base.errors import ConfigError, ReallocError
from realloc.base.validation import from_table
from realloc.decide.constraints.constraints import Constraints
from realloc.draw import DataTable, PagePiece, Paragraph, Part, page
from realloc.model.realloc import ReAlloc
from realloc.report.compare import compare_versions, difference_pieces
from realloc.report.learned import learned_pieces
from realloc.report.prices import price_pieces, price_rules
from realloc.report.rows import sample_rows
from realloc.report.run import WHERE, figures_of_run, newest_run
from realloc.report.run_pieces import run_pieces
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store, Version

NO_RUN = (
    "No batch has been decided with this store yet. Run "
    "`realloc recommend today.parquet --store … --out recs.parquet`, then this command again."
)


def store_report(store: Store, ledger: Ledger) -> str:
    """The page of a store and its decision log."""
    entry = newest_run(ledger)
    model, record = store.open()
    name = store.path.resolve().name
    subtitle = f"Version {record.number}, made {record.created[:10]}."
    pieces: list[PagePiece] = []
    if entry is None:
        pieces.append(Paragraph(NO_RUN, "missing"))
    else:
        subtitle += f" Run {entry.run}, {entry.made[:16].replace('T', ' ')} UTC."
        pieces += run_pieces(figures_of_run(ledger, entry))
        pieces.append(Part("What each constraint costs", _prices(store, ledger, entry)))
    rows = sample_rows(ledger, entry) if entry and entry.version is not None else None
    pieces += learned_pieces(model, record, rows)
    pieces.append(Part("Versions", [versions_table(store.history(), record.number)]))
    return page(f"Budget moves of {name}", pieces, subtitle)


def _prices(store: Store, ledger: Ledger, entry: Entry) -> list[PagePiece]:
    """The price of the constraints that the run was decided with."""
    if entry.version is None:
        return [
            Paragraph("The store was frozen during this run: no model was asked.", "note")
        ]
    given = entry.settings.get("constraints", {})
    constraints = from_table(Constraints, given, WHERE)
    try:
        model = open_version(store, entry.version)
    except ReallocError as problem:
        return [Paragraph(f"The prices are not known. {problem}", "missing")]
    logs = sample_rows(ledger, entry)
    return price_pieces(*price_rules(model, logs, constraints), entry.rows)


def open_version(store: Store, number: int) -> ReAlloc:
    """The model of a version that is kept."""
    return store.open(number)[0]


def versions_table(
    versions: tuple[Version, ...] | list[Version], current: int
) -> DataTable:
    """Every version that is kept, the newest first."""
    rows = [
        (
            f"{version.number} (current)"
            if version.number == current
            else str(version.number),
            version.created[:16].replace("T", " "),
            str(version.rounds),
            f"{version.windows[-1].first[:10]} to {version.windows[-1].last[:10]}",
            f"{version.windows[-1].rows:,}",
            f"version {version.restores}" if version.restores else "",
        )
        for version in reversed(versions)
    ]
    heads = ("version", "made (UTC)", "rounds", "last window", "rows", "model of")
    return DataTable(heads, rows)


def write_report(
    store: Path, out: Path, allow_network: bool = False, decisions: Path | None = None
) -> None:
    """Write the page of a store; `decisions`: the folder of its decision log, if elsewhere."""
    ledger = Ledger(decisions or store / DECISIONS)
    _write(store_report(Store(store, allow_network=allow_network), ledger), out)


def compare_report(store: Store, ledger: Ledger, number: int) -> str:
    """The page that compares a version with the current one, on rows of the newest run."""
    entry = newest_run(ledger)
    if entry is None:
        raise ConfigError(
            "Expected a batch whose rows both versions can decide on, but none was decided yet. "
            "Run `realloc recommend` first."
        )
    current = store.open()
    found = compare_versions(store.open(number), current, sample_rows(ledger, entry))
    subtitle = f"On {found.rows:,} rows of run {entry.run}, evenly spread."
    title = f"Version {number} and version {current[1].number}"
    return page(title, difference_pieces(found), subtitle)


def write_comparison(
    store: Path, number: int, out: Path, allow_network: bool = False
) -> None:
    """Write the page that compares a version with the current one."""
    opened = Store(store, allow_network=allow_network)
    _write(compare_report(opened, Ledger(store / DECISIONS), number), out)


def write_fit_report(model: ReAlloc, record: Version, out: Path) -> None:
    """Write the page of a round that has just ended: each unit's last row stands for today."""
    rows = model.last_window.today if model.last_window else None
    _write(page(f"Version {record.number}", learned_pieces(model, record, rows)), out)


def _write(text: str, out: Path) -> None:
    if out.is_dir():
        raise ConfigError(f"Expected a file for the report, got the folder {str(out)!r}.")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
