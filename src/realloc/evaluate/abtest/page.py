"""A readout as pieces, and as one HTML page."""

from realloc.base.numbers import plain, signed, span
from realloc.draw import (
    Bar,
    DataTable,
    Figure,
    PagePiece,
    Paragraph,
    Part,
    Point,
    VerdictBox,
    calibration,
    intervals,
    page,
)
from realloc.evaluate.abtest.calibration import Calibration
from realloc.evaluate.abtest.metrics import Effect
from realloc.evaluate.abtest.readout import HEADS, Readout, cells

TONES = {"launch": "good", "keep_control": "bad", "go_on": "wait", "no_verdict": "bad"}
BIN_HEADS = ("predicted gain", "realised", "interval", "control units", "treatment units")


def to_html(readout: Readout, title: str = "A/B readout") -> str:
    """The whole page."""
    return page(title, to_pieces(readout))


def to_pieces(readout: Readout) -> list[PagePiece]:
    """What the page shows."""
    rows = [cells(effect) for effect in readout.effects]
    figures = [_draw_effects(readout, unit) for unit in ("%", "pt")]
    pieces: list[PagePiece] = [
        VerdictBox(readout.verdict, TONES[readout.decision]),
        Part("Arms", [Paragraph(str(readout.split))]),
        Part("Effects", [DataTable(HEADS, rows), *(f for f in figures if not f.empty)]),
    ]
    if readout.calibration:
        shown = _show_calibration(readout.calibration)
        pieces.append(Part("Predicted against realised", shown))
    return [*pieces, *(Paragraph(note, "note") for note in readout.notes)]


def _draw_effects(readout: Readout, unit: str) -> Figure:
    """Intervals of all effects of one unit on one scale, margins of guardrails dashed."""
    bars = [_bar(effect) for effect in readout.effects if effect.metric.sign == unit]
    return intervals(
        bars, f"Effects in {unit}; dashed: what a guardrail may lose", unit=unit
    )


def _bar(effect: Effect) -> Bar:
    margin = effect.metric.margin
    if margin is not None and effect.metric.direction == "up":
        margin = -margin
    return Bar(effect.name, effect.value, effect.low, effect.high, margin)


def _show_calibration(found: Calibration) -> list[PagePiece]:
    """The sentence, realised against predicted by bins, and the same as a table."""
    rows = [
        (
            plain(b.predicted),
            signed(b.realised),
            span(b.low, b.high),
            f"{b.control:,}",
            f"{b.treatment:,}",
        )
        for b in found.bins
    ]
    points = [Point(b.predicted, b.realised, b.low, b.high) for b in found.bins]
    figure = calibration(
        points, "Realised gain by predicted gain", ("predicted gain", "realised gain")
    )
    return [Paragraph(found.sentence), figure, DataTable(BIN_HEADS, rows)]
