"""A fitted model as pieces of a page: the data, its quality, which moves pay, and for whom."""

from collections.abc import Sequence
from typing import Any

from realloc.base.numbers import counted, signed, span
from realloc.draw import (
    DataTable,
    PagePiece,
    Paragraph,
    Part,
)
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc
from realloc.model.summary import known_pieces
from realloc.report.hidden import hidden_pieces
from realloc.storage.store import Version

FEATURES = 6  # that rows are split by
SEGMENTS = 10  # shown
FEWEST = 20  # rows of a segment


def learned_pieces(
    model: ReAlloc, record: Version | None = None, rows: Logs | None = None
) -> list[PagePiece]:
    """What was learned; `rows` to say on which moves and for whom it pays."""
    learned = known_pieces(model.known)
    if record is not None:
        learned.append(windows_table(record))
    pieces: list[PagePiece] = [
        Part("What the model knows", learned),
        Part("Which moves pay", effect_pieces(model, rows)),
    ]
    if rows is not None:
        hidden = hidden_pieces(model.sensitivity(rows))
        pieces.append(Part("What a hidden cause could do", hidden))
    return pieces


def windows_table(record: Version) -> DataTable:
    """The windows that a version has learned from."""
    rows = [
        (f"{window.first} to {window.last}", f"{window.rows:,}")
        for window in record.windows
    ]
    return DataTable(("window", "rows"), rows, "Windows, in the order of learning")


def effect_pieces(model: ReAlloc, rows: Logs | None) -> list[PagePiece]:
    """Gain of one point by pair of channels, then the segments with the clearest gains."""
    if rows is None:
        text = (
            "Which moves pay depends on where units stand today, and no batch has been decided "
            "yet. Run `realloc recommend`."
        )
        return [Paragraph(text, "missing")]
    return [model.plot.gains(rows), *_segment_pieces(model, rows)]


def _segment_pieces(model: ReAlloc, rows: Logs) -> list[PagePiece]:
    found: list[dict[str, Any]] = []
    names = _split_by(rows)
    for name in names:
        for row in model.effects(rows, by=[name]).to_pylist():
            if row["n"] >= FEWEST and row["low"] > 0:
                found.append(row | {"segment": f"{name}: {row[name]}"})
    if not names:
        return []
    if not found:
        text = "No kind of unit gains from a move with an interval that leaves 0 out."
        return [Paragraph(text, "note")]
    best = sorted(found, key=lambda row: -row["low"])[:SEGMENTS]
    cells = [
        (
            row["segment"],
            f"{row['from']} → {row['to']}",
            signed(row["value"]),
            span(row["low"], row["high"]),
            f"{row['n']:,}",
        )
        for row in best
    ]
    note = (
        f"Of {counted(len(found), 'segment')} whose 95 % interval lies above 0, those with the "
        "highest lower end."
    )
    heads = ("units", "move", "gain of one point", "95 % interval", "rows")
    return [DataTable(heads, cells, "Who gains from which move", note)]


def _split_by(rows: Logs) -> Sequence[str]:
    """Categories first, then numbers."""
    categories = [name for name in rows.features if name in (rows.schema.categorical or ())]
    return [*categories, *(n for n in rows.features if n not in categories)][:FEATURES]
