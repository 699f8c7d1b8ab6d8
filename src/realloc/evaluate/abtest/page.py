"""A readout as one HTML page that needs nothing else: no script, no style sheet, no picture from elsewhere."""

from html import escape

import numpy as np

from realloc.evaluate.abtest.calibration import Calibration
from realloc.evaluate.abtest.metrics import Effect
from realloc.evaluate.abtest.readout import HEADS, Readout, cells

COLOURS = {"launch": "#14713d", "keep_control": "#a3261b", "go_on": "#8a5a00", "no_verdict": "#a3261b"}
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #1c2733; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .7rem; border-bottom: 1px solid #dde3e9; }
td { font-variant-numeric: tabular-nums; } .verdict { font-size: 1.15rem; border-left: .4rem solid; padding-left: .8rem; }
.note { color: #55636f; } svg text { font: 12px system-ui, sans-serif; fill: #1c2733; }
"""
WIDTH, LEFT, ROW = 720.0, 150.0, 28.0


def to_html(readout: Readout, title: str = "A/B readout") -> str:
    """The whole page."""
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells(effect))}</tr>" for effect in readout.effects
    )
    parts = [
        f'<p class="verdict" style="border-color:{COLOURS[readout.decision]}">{escape(readout.verdict)}</p>',
        "<h2>Arms</h2>",
        f"<p>{escape(str(readout.split))}</p>",
        "<h2>Effects</h2>",
        f"<table><tr>{''.join(f'<th>{head}</th>' for head in HEADS)}</tr>{rows}</table>",
        *(_forest([e for e in readout.effects if e.metric.sign == sign], sign) for sign in ("%", "pt")),
        _calibration(readout.calibration) if readout.calibration else "",
        "".join(f'<p class="note">{escape(note)}</p>' for note in readout.notes),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>\n"
    )


def _forest(effects: list[Effect], sign: str) -> str:
    """Intervals of all effects of one unit on one scale, margins of guardrails dotted."""
    if not effects:
        return ""
    reach = 1.1 * max(1e-9, *(max(abs(e.low), abs(e.high), e.metric.margin or 0.0) for e in effects))

    def at(value: float) -> float:
        return LEFT + (value / reach + 1) / 2 * (WIDTH - LEFT - 20)

    marks: list[str] = [_rule(at(0), len(effects))]
    for i, effect in enumerate(effects):
        y = ROW * (i + 0.5)
        marks.append(f'<text x="0" y="{y + 4:.0f}">{escape(effect.name)}</text>')
        marks.append(
            f'<line x1="{at(effect.low):.1f}" x2="{at(effect.high):.1f}" y1="{y}" y2="{y}" stroke="#2b6cb0" stroke-width="3"/>'
        )
        marks.append(f'<circle cx="{at(effect.value):.1f}" cy="{y}" r="4.5" fill="#1a4b80"/>')
        if effect.metric.margin is not None:
            x = at(-effect.metric.margin if effect.metric.direction == "up" else effect.metric.margin)
            marks.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 10}" y2="{y + 10}" stroke="#a3261b" stroke-width="2" '
                'stroke-dasharray="3 2"/>'
            )
    foot = ROW * len(effects) + 14
    marks.append(f'<text x="{at(0):.1f}" y="{foot}" text-anchor="middle">0 {escape(sign)}</text>')
    return _svg(foot + 6, marks, f"Effects in {sign} with intervals; dotted: what a guardrail may lose")


def _rule(x: float, rows: int) -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{ROW * rows:.0f}" stroke="#9aa7b3"/>'


def _calibration(calibration: Calibration) -> str:
    """The sentence, realised against predicted by bins, and the same as a table."""
    rows = "".join(
        f"<tr><td>{b.predicted:.4g}</td><td>{b.realised:+.4g}</td><td>[{b.low:+.4g}, {b.high:+.4g}]</td>"
        f"<td>{b.control:,}</td><td>{b.treatment:,}</td></tr>"
        for b in calibration.bins
    )
    heads = "".join(
        f"<th>{h}</th>" for h in ("predicted gain", "realised", "interval", "control units", "treatment units")
    )
    return (
        f"<h2>Predicted against realised</h2><p>{escape(calibration.sentence)}</p>{_scatter(calibration)}"
        f"<table><tr>{heads}</tr>{rows}</table>"
    )


def _scatter(calibration: Calibration) -> str:
    bins = calibration.bins
    if len(bins) < 2:
        return ""
    x = np.array([b.predicted for b in bins])
    y = np.array([[b.realised, b.low, b.high] for b in bins])
    left, right = min(0.0, float(x.min())), float(x.max()) * 1.05 + 1e-12
    bottom, top = min(float(y.min()), left), max(float(y.max()), right)

    def at(across: float, up: float) -> tuple[float, float]:
        return 40 + (across - left) / (right - left) * 420, 300 - (up - bottom) / (top - bottom) * 280

    def line(a: tuple[float, float], b: tuple[float, float], look: str) -> str:
        return f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" {look}/>'

    marks = [
        line(at(left, 0), at(right, 0), 'stroke="#9aa7b3"'),
        line(at(left, left), at(right, right), 'stroke="#a3261b" stroke-dasharray="4 3"'),
    ]
    for across, (value, low, high) in zip(x.tolist(), y.tolist(), strict=True):
        marks.append(line(at(across, low), at(across, high), 'stroke="#2b6cb0" stroke-width="2"'))
        marks.append('<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="#1a4b80"/>'.format(*at(across, value)))
    marks.append('<text x="250" y="322" text-anchor="middle">predicted gain (dotted: realised = predicted)</text>')
    return _svg(330, marks, "Realised uplift by predicted gain")


def _svg(height: float, marks: list[str], label: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDTH:.0f} {height:.0f}" width="{WIDTH:.0f}">'
        f"{''.join(marks)}</svg>"
    )
