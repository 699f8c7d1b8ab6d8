"""A fitted model as pieces of a page: the data, its quality, which moves pay, and for whom."""

from collections.abc import Sequence
from typing import Any

from realloc.base.numbers import counted, percent, signed, span
from realloc.draw import (
    Bullets,
    DataTable,
    PagePiece,
    PairGain,
    Paragraph,
    Part,
    Tile,
    Tiles,
    VerdictBox,
    gain_matrix,
)
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc
from realloc.model.sensitivity import FARTHEST
from realloc.storage.store import Version

FEATURES = 6  # that rows are split by
SEGMENTS = 10  # shown
FEWEST = 20  # rows of a segment


def learned_pieces(
    model: ReAlloc, record: Version | None = None, rows: Logs | None = None
) -> list[PagePiece]:
    """What was learned; `rows` to say on which moves and for whom it pays."""
    known = model.summary().known
    enough = known.significant
    tone = "good" if enough else "bad"
    verdict = "The logs hold enough evidence to move budget."
    if not enough:
        verdict = "The logs hold too little evidence: every mix is kept."
    explained = "not known" if known.explained is None else percent(max(known.explained, 0))
    tiles = [
        Tile("Learned from", f"{known.rows:,} rows", f"round {known.rounds}"),
        Tile(
            "Evidence that the mix matters",
            f"z = {known.evidence:.1f}",
            f"{known.needed:g} needed",
            tone,
        ),
        Tile(
            f"Explained of {known.outcome!r}",
            explained,
            "of its variance, on units left out",
        ),
    ]
    learned: list[PagePiece] = [
        VerdictBox(verdict, tone),
        Tiles(tiles),
        Bullets(known.lines()),
    ]
    if record is not None:
        learned.append(windows_table(record))
    return [
        Part("What the model knows", learned),
        Part("Which moves pay", effect_pieces(model, rows)),
        *([] if rows is None else [Part("What a hidden cause could do", hidden_pieces(model, rows))]),
    ]


def hidden_pieces(model: ReAlloc, rows: Logs) -> list[PagePiece]:
    """How strong a hidden cause must be, beside the strongest recorded features."""
    found = model.sensitivity(rows)
    pieces: list[PagePiece] = [Bullets(found.lines())]
    if found.moved and found.features:
        cells = [
            (
                one.feature,
                percent(one.of_outcome),
                percent(one.of_moves),
                signed(one.gain_left),
                percent(one.moves_left),
                f"{one.times:.1f}" if one.times < FARTHEST else "more than 100",
            )
            for one in found.features[:FEATURES]
        ]
        heads = (
            "feature",
            "explains of the outcome",
            "of the mix",
            "gain left",
            "moves that still gain",
            "times as strong to undo all",
        )
        note = (
            "Beyond all other features. Gain left: what remains for certain if a cause that nobody "
            "recorded is as strong as this feature."
        )
        pieces.append(DataTable(heads, cells, "A hidden cause as strong as …", note))
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
    unit = f"{rows.schema.outcome} per row"
    pairs = {
        (row["from"], row["to"]): PairGain(row["value"], row["low"], row["high"])
        for row in model.effects(rows).to_pylist()
    }
    drawn = gain_matrix(rows.schema.channels, pairs, unit=unit)
    return [drawn, *_segment_pieces(model, rows)]


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
