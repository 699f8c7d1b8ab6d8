"""A run as pieces of a page: verdict, money, gains, reasons, biggest moves."""

from collections.abc import Sequence

from realloc.base.numbers import percent, plain, signed, span
from realloc.base.simplex import Floats
from realloc.decide.types import MOVED, REASONS
from realloc.draw import (
    Bullets,
    DataTable,
    PagePiece,
    Paragraph,
    Part,
    Tile,
    Tiles,
    VerdictBox,
    bin_values,
    counts,
    distribution,
    flow_matrix,
    money_flow,
)
from realloc.model.explain import SAME_BUDGET
from realloc.report.run import RunFigures
from realloc.report.verdict import judge

NOTICEABLE = 5e-4  # of a share
BINDINGS = 8  # shown


def run_pieces(figures: RunFigures) -> list[PagePiece]:
    """Everything that a report says about a run."""
    verdict = judge(figures)
    pieces: list[PagePiece] = [VerdictBox(verdict.text, verdict.tone)]
    if verdict.fired:
        pieces.append(Bullets(verdict.fired))
    pieces.append(run_tiles(figures))
    pieces.append(Part("Where the money goes", money_pieces(figures)))
    pieces.append(Part("What it is worth", gain_pieces(figures)))
    pieces.append(Part("Moved, and kept", reason_pieces(figures)))
    pieces.append(Part("Biggest moves", [moves_table(figures)]))
    return pieces


def run_tiles(figures: RunFigures) -> Tiles:
    """The numbers that a reader looks for first."""
    part = figures.moved / figures.usable if figures.usable else 0.0
    money = figures.moved_money / figures.money if figures.money else 0.0
    interval = "interval not known: the log holds no errors of gains"
    if figures.total is not None:
        low = figures.total.gain - figures.total.half
        high = figures.total.gain + figures.total.half
        interval = f"95 % interval {span(low, high)}"
    coverage = figures.logged.get("support_coverage")
    worth = figures.logged.get("worth")
    money_tile: tuple[Tile, ...] = ()
    if worth is not None:
        between = span(figures.logged["worth_low"], figures.logged["worth_high"])
        told = f"less what moves cost; 95 % interval {between}"
        money_tile = (Tile("Gain in money", signed(worth), told),)
    return Tiles(
        (
            Tile("Expected gain", f"{signed(figures.gain)}", interval),
            *money_tile,
            Tile(
                "Rows moved",
                percent(part),
                f"{figures.moved:,} of {figures.usable:,} rows that could be read",
            ),
            Tile(
                "Money moved",
                plain(figures.moved_money),
                f"{percent(money)} of {plain(figures.money)}",
            ),
            Tile(
                "Current mixes supported",
                "not known" if coverage is None else percent(coverage),
                "by the logs that were learned from",
            ),
        )
    )


def money_pieces(figures: RunFigures) -> list[PagePiece]:
    """Channels now and recommended, and what flows between them."""
    channels = figures.schema.channels
    flow = money_flow(channels, figures.now.tolist(), figures.flows)
    rows = [
        (
            name,
            plain(now),
            plain(after),
            signed(after - now),
            percent(now / figures.money),
            percent(after / figures.money),
        )
        for name, now, after in zip(
            channels, figures.now.tolist(), figures.recommended.tolist(), strict=True
        )
        if figures.money
    ]
    heads = ("channel", "now", "recommended", "change", "share now", "recommended share")
    return [
        flow,
        flow_matrix(channels, figures.flows, figures.money),
        DataTable(heads, rows),
    ]


def gain_pieces(figures: RunFigures) -> list[PagePiece]:
    """How gains of moved rows are spread."""
    outcome = figures.schema.outcome
    edges, numbers = bin_values(figures.gains)
    drawn = distribution(
        edges, numbers, "Expected gains of moved rows", f"{outcome} per row"
    )
    if figures.total is None:
        return [drawn]
    total = figures.total
    low, high = plain(total.gain - total.half), plain(total.gain + total.half)
    text = (
        f"Together {plain(total.gain)} {outcome}, with a 95 % interval from {low} to {high}. "
        "Bounds of rows are not added up: that would say that every row is unlucky at once. "
        f"{SAME_BUDGET}"
    )
    return [Paragraph(text), drawn]


def reason_pieces(figures: RunFigures) -> list[PagePiece]:
    """Why rows were moved or kept, and the rules that bound kept ones."""
    named = {REASONS.get(reason, reason): n for reason, n in figures.reasons.items()}
    moved = [REASONS[reason] for reason in MOVED]
    pieces: list[PagePiece] = [
        counts(
            named, "Rows by reason", highlighted=[name for name in moved if name in named]
        )
    ]
    bound = list(figures.bindings.items())[:BINDINGS]
    if bound:
        rows = [(rule, reason, f"{n:,}") for (reason, rule), n in bound]
        caption = "Rules that kept rows where they are"
        pieces.append(DataTable(("rule", "reason", "rows"), rows, caption))
    return pieces


def moves_table(figures: RunFigures) -> PagePiece:
    """The moves of most money."""
    if not figures.biggest:
        return Paragraph("No row is moved.", "note")
    channels = figures.schema.channels
    rows = [
        (
            move.unit,
            describe_change(channels, move.now, move.recommended),
            f"{move.money:,.2f}",
            signed(move.gain),
            signed(move.gain_lower),
            f"{move.support:.2f}",
        )
        for move in figures.biggest
    ]
    heads = (figures.schema.unit, "shares", "money moved", "gain", "at least", "support")
    return DataTable(heads, rows, longest=90)


def describe_change(channels: Sequence[str], now: Floats, recommended: Floats) -> str:
    """The channels that change: `ads 40 % → 45 %`."""
    return ", ".join(
        f"{name} {percent(float(now[k]))} → {percent(float(recommended[k]))}"
        for k, name in enumerate(channels)
        if abs(recommended[k] - now[k]) > NOTICEABLE
    )
