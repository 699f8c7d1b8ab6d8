"""Two versions on the same rows: which mixes would differ, and whether data or rules did it."""

from copy import copy
from dataclasses import dataclass

import numpy as np

from realloc.base.numbers import counted, percent, plain, signed
from realloc.base.simplex import Floats, total_variation
from realloc.decide.types import Decision
from realloc.draw import Bullets, DataTable, PagePiece, Paragraph, Part, Tile, Tiles
from realloc.logs import Logs
from realloc.model.churn import Churn, compare_fields
from realloc.model.realloc import ReAlloc
from realloc.report.prices import DecidedTotals
from realloc.report.run_pieces import describe_change
from realloc.storage.store import Version

APART = 0.005  # part of the budget; mixes that differ by less count as the same
BIGGEST = 10


@dataclass(frozen=True, eq=False)
class MixDifference:
    """A row whose mix two versions would set differently."""

    unit: str
    time: str
    one: Floats
    other: Floats
    money: float  # that lies elsewhere


@dataclass(frozen=True, eq=False, kw_only=True)
class VersionDifference:
    """What two versions decide on the same rows."""

    one: Version
    other: Version
    channels: tuple[str, ...]
    rows: int
    totals: tuple[DecidedTotals, DecidedTotals]
    field: Churn  # what both have learned, compared
    by_model: int  # rows that differ although both decide by the same rules
    by_rules: int  # rows that differ because the rules of decision do
    apart: int  # rows that differ in all
    biggest: tuple[MixDifference, ...]


def compare_versions(
    one: tuple[ReAlloc, Version], other: tuple[ReAlloc, Version], logs: Logs
) -> VersionDifference:
    """Decide on the same rows with both, and with the second one by the rules of the first."""
    decisions = [model.decide(logs) for model, _ in (one, other)]
    by_rules = other[0].config.decision, other[0].config.constraints
    first_rules = one[0].config.decision, one[0].config.constraints
    same_rules = decisions[1]
    if by_rules != first_rules:
        same_rules = copy(other[0]).decide_with(*first_rules).decide(logs)
    distance = total_variation(decisions[0].shares, decisions[1].shares)
    fields = [model.fitted.field(logs).mean(axis=0) for model, _ in (one, other)]
    return VersionDifference(
        one=one[1],
        other=other[1],
        channels=logs.schema.channels,
        rows=len(logs),
        totals=(
            DecidedTotals.of(logs, decisions[0]),
            DecidedTotals.of(logs, decisions[1]),
        ),
        field=compare_fields(*fields),
        by_model=_count_apart(decisions[0], same_rules),
        by_rules=_count_apart(same_rules, decisions[1]),
        apart=int((distance > APART).sum()),
        biggest=_biggest(logs, decisions, distance * np.array(logs.budget)),
    )


def difference_pieces(found: VersionDifference) -> list[PagePiece]:
    """The difference as pieces of a page."""
    part = found.apart / found.rows
    tiles = [
        Tile(
            "Rows with another mix",
            percent(part),
            f"{found.apart:,} of {found.rows:,} rows, by {percent(APART)} of the budget or more",
        )
    ]
    for version, totals in zip((found.one, found.other), found.totals, strict=True):
        tiles.append(
            Tile(
                f"Expected gain, version {version.number}",
                signed(totals.gain),
                f"{totals.moved:,} rows moved, {plain(totals.moved_money)} money",
            )
        )
    return [
        Tiles(tiles),
        Part("Why they differ", _why(found)),
        Part("Biggest differences", [_table(found)]),
    ]


def _why(found: VersionDifference) -> list[PagePiece]:
    texts = [
        f"{counted(found.by_model, 'row')} differ by what was learned, under the same rules.",
        f"{counted(found.by_rules, 'row')} differ by the rules of decision.",
        f"The field differs by {percent(found.field.field)} of its size; the best first move of "
        f"{percent(found.field.best_move)} of the rows is another one.",
    ]
    noise = (
        "A refit of the same data differs, too: `realloc update --churn` measures how much."
    )
    return [Bullets(texts), Paragraph(noise, "note")]


def _table(found: VersionDifference) -> PagePiece:
    if not found.biggest:
        return Paragraph("No mix differs by more than half a point.", "note")
    rows = [
        (
            row.unit,
            row.time,
            describe_change(found.channels, row.one, row.other),
            f"{row.money:,.2f}",
        )
        for row in found.biggest
    ]
    heads = (
        "unit",
        "time",
        f"shares, version {found.one.number} → version {found.other.number}",
        "money elsewhere",
    )
    return DataTable(heads, rows, longest=90)


def _count_apart(one: Decision, other: Decision) -> int:
    return int((total_variation(one.shares, other.shares) > APART).sum())


def _biggest(
    logs: Logs, decisions: list[Decision], money: Floats
) -> tuple[MixDifference, ...]:
    names = logs.units.cast("string").to_pylist()
    order = np.argsort(-money, kind="stable")[:BIGGEST].tolist()
    return tuple(
        MixDifference(
            unit=str(names[logs.unit_codes[row]]),
            time=str(logs.times[row].astype("datetime64[D]")),
            one=decisions[0].shares[row],
            other=decisions[1].shares[row],
            money=float(money[row]),
        )
        for row in order
        if money[row] > 0
    )
