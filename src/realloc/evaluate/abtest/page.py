"""A readout as one HTML page."""

from realloc.draw.page import heading, page, paragraph, table, verdict_box
from realloc.draw.svg import Bar, Point, forest, scatter
from realloc.evaluate.abtest.calibration import Calibration
from realloc.evaluate.abtest.metrics import Effect
from realloc.evaluate.abtest.readout import HEADS, Readout, cells

TONES = {"launch": "good", "keep_control": "bad", "go_on": "wait", "no_verdict": "bad"}
BIN_HEADS = ("predicted gain", "realised", "interval", "control units", "treatment units")


def to_html(readout: Readout, title: str = "A/B readout") -> str:
    """The whole page."""
    parts = [
        verdict_box(readout.verdict, TONES[readout.decision]),
        heading("Arms"),
        paragraph(str(readout.split)),
        heading("Effects"),
        table(HEADS, [cells(effect) for effect in readout.effects]),
        _draw_effects(readout, "%"),
        _draw_effects(readout, "pt"),
        _show_calibration(readout.calibration) if readout.calibration else "",
        *(paragraph(note, "note") for note in readout.notes),
    ]
    return page(title, parts)


def _draw_effects(readout: Readout, unit: str) -> str:
    """Intervals of all effects of one unit on one scale, margins of guardrails dotted."""
    bars = [_bar(effect) for effect in readout.effects if effect.metric.sign == unit]
    label = f"Effects in {unit} with intervals; dotted: what a guardrail may lose"
    return forest(bars, unit, label)


def _bar(effect: Effect) -> Bar:
    margin = effect.metric.margin
    if margin is not None and effect.metric.direction == "up":
        margin = -margin
    return Bar(effect.name, effect.value, effect.low, effect.high, margin)


def _show_calibration(calibration: Calibration) -> str:
    """The sentence, realised against predicted by bins, and the same as a table."""
    bins = calibration.bins
    rows = [
        (
            f"{b.predicted:.4g}",
            f"{b.realised:+.4g}",
            f"[{b.low:+.4g}, {b.high:+.4g}]",
            f"{b.control:,}",
            f"{b.treatment:,}",
        )
        for b in bins
    ]
    figure = scatter(
        [Point(b.predicted, b.realised, b.low, b.high) for b in bins],
        "predicted gain against realised (dotted: realised = predicted)",
        "Realised uplift by predicted gain",
    )
    title = heading("Predicted against realised")
    return f"{title}{paragraph(calibration.sentence)}{figure}{table(BIN_HEADS, rows)}"
