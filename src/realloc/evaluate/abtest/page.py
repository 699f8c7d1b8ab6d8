"""A readout as one HTML page that needs nothing else: no script, no style sheet, no picture from elsewhere.

`page`, `table`, `verdict_box` and `forest` draw the evaluation report as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, isfinite, log10

import numpy as np

from realloc.evaluate.abtest.calibration import Calibration
from realloc.evaluate.abtest.metrics import Effect
from realloc.evaluate.abtest.readout import HEADS, Readout, cells

TONES = {"launch": "good", "keep_control": "bad", "go_on": "wait", "no_verdict": "bad"}
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2733; --soft: #55636f; --line: #dde3e9; --rule: #9aa7b3;
  --good: #14713d; --bad: #a3261b; --wait: #8a5a00; --bar: #2b6cb0; --dot: #1a4b80; }
@media (prefers-color-scheme: dark) { :root { --paper: #14191f; --ink: #e3e8ee; --soft: #9aa8b5; --line: #2c3640;
  --rule: #66737f; --good: #4cc27e; --bad: #ef7a6d; --wait: #e0ab4a; --bar: #5a9be0; --dot: #9cc6f5; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--paper); }
h1 { font-size: 1.6rem; margin-bottom: .8rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; } .scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; min-width: 50%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; white-space: nowrap; } td { font-variant-numeric: tabular-nums; }
.number { text-align: right; white-space: nowrap; } td.name { white-space: nowrap; }
.verdict { font-size: 1.15rem; border-left: .4rem solid; padding-left: .8rem; }
.good { border-color: var(--good); } .bad { border-color: var(--bad); } .wait { border-color: var(--wait); }
.missing { border-left: .25rem solid var(--wait); padding-left: .7rem; } .note { color: var(--soft); }
svg { display: block; max-width: 100%; min-width: 32rem; height: auto; }
@media (max-width: 40rem) { td.name { white-space: normal; } }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); } svg text.tick { fill: var(--soft); }
svg line { stroke: var(--rule); } svg .bar { stroke: var(--bar); stroke-width: 3; } svg .dot { fill: var(--dot); }
svg .limit { stroke: var(--bad); stroke-width: 2; stroke-dasharray: 3 2; } svg .grid { stroke: var(--line); }
"""
WIDTH, ROW, LETTER = 720.0, 28.0, 6.6
NUMERIC = set("0123456789+-−<[(–")


@dataclass(frozen=True)
class Bar:
    """A named value with its interval, and a limit that it should not cross."""

    name: str
    value: float
    low: float
    high: float
    limit: float | None = None


def to_html(readout: Readout, title: str = "A/B readout") -> str:
    """The whole page."""
    parts = [
        verdict_box(readout.verdict, TONES[readout.decision]),
        "<h2>Arms</h2>",
        f"<p>{escape(str(readout.split))}</p>",
        "<h2>Effects</h2>",
        table(HEADS, [cells(effect) for effect in readout.effects]),
        *(
            _effects([e for e in readout.effects if e.metric.sign == sign], sign)
            for sign in ("%", "pt")
        ),
        _calibration(readout.calibration) if readout.calibration else "",
        "".join(f'<p class="note">{escape(note)}</p>' for note in readout.notes),
    ]
    return page(title, parts)


def page(title: str, parts: Sequence[str]) -> str:
    """A page of these parts under its title."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>\n"
    )


def verdict_box(text: str, tone: str) -> str:
    """What to do, in one paragraph; `tone` is good, wait or bad."""
    return f'<p class="verdict {tone}">{escape(text)}</p>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Texts as a table that scrolls on a narrow screen; columns of numbers after the first stand to the right."""
    numeric = [all(row[i][:1] in NUMERIC for row in rows if row[i]) for i in range(1, len(heads))]
    marks = [' class="name"', *(' class="number"' if number else "" for number in numeric)]
    top = "".join(f"<th{mark}>{escape(head)}</th>" for mark, head in zip(marks, heads, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{mark}>{escape(cell)}</td>' for mark, cell in zip(marks, row, strict=True))}</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'


def forest(bars: Sequence[Bar], sign: str, label: str) -> str:
    """Values with intervals on one scale around 0, limits dotted; what has no interval is left out."""
    bars = [bar for bar in bars if isfinite(bar.low) and isfinite(bar.high)]
    if not bars:
        return ""
    left = min(300.0, 16 + LETTER * max(len(bar.name) for bar in bars))
    reach = 1.1 * max(
        1e-9, *(max(abs(bar.low), abs(bar.high), abs(bar.limit or 0.0)) for bar in bars)
    )
    foot = ROW * len(bars)

    def at(value: float) -> float:
        return left + (value / reach + 1) / 2 * (WIDTH - left - 20)

    step = _tick(reach)
    marks: list[str] = []
    for value in (-step, step, 0.0):
        look, unit = ("" if value == 0 else "grid"), f" {sign}" if sign else ""
        marks.append(_line((at(value), 0), (at(value), foot), look))
        text = f"{value:+g}" if value else "0"
        marks.append(_text(at(value), foot + 14, f"{text}{unit}", "tick"))
    for i, bar in enumerate(bars):
        y = ROW * (i + 0.5)
        marks.append(f'<text x="0" y="{y + 4:.0f}">{escape(bar.name)}</text>')
        marks.append(_line((at(bar.low), y), (at(bar.high), y), "bar"))
        marks.append(_dot(at(bar.value), y))
        if bar.limit is not None:
            marks.append(_line((at(bar.limit), y - 10), (at(bar.limit), y + 10), "limit"))
    return _svg(foot + 20, marks, label)


def _effects(effects: list[Effect], sign: str) -> str:
    """Intervals of all effects of one unit on one scale, margins of guardrails dotted."""
    bars: list[Bar] = []
    for effect in effects:
        margin = effect.metric.margin
        limit = None if margin is None else -margin if effect.metric.direction == "up" else margin
        bars.append(Bar(effect.name, effect.value, effect.low, effect.high, limit))
    return forest(
        bars, sign, f"Effects in {sign} with intervals; dotted: what a guardrail may lose"
    )


def _calibration(calibration: Calibration) -> str:
    """The sentence, realised against predicted by bins, and the same as a table."""
    heads = ("predicted gain", "realised", "interval", "control units", "treatment units")
    rows = [
        (
            f"{b.predicted:.4g}",
            f"{b.realised:+.4g}",
            f"[{b.low:+.4g}, {b.high:+.4g}]",
            f"{b.control:,}",
            f"{b.treatment:,}",
        )
        for b in calibration.bins
    ]
    return (
        f"<h2>Predicted against realised</h2><p>{escape(calibration.sentence)}</p>{_scatter(calibration)}"
        f"{table(heads, rows)}"
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
        return 64 + (across - left) / (right - left) * 596, 290 - (up - bottom) / (
            top - bottom
        ) * 270

    marks = [
        _line(at(left, 0), at(right, 0)),
        _line(at(left, bottom), at(left, top)),
        _line(at(left, left), at(right, right), "limit"),
    ]
    for across, (value, low, high) in zip(x.tolist(), y.tolist(), strict=True):
        marks.append(_line(at(across, low), at(across, high), "bar"))
        marks.append(_dot(*at(across, value)))
    for up in {0.0, _tick(top)}:
        marks.append(_text(58, at(left, up)[1] + 4, f"{up:g}", "tick", "end"))
    across = _tick(right)
    marks.append(_text(at(across, 0)[0], 306, f"{across:g}", "tick"))
    marks.append(_text(362, 324, "predicted gain against realised (dotted: realised = predicted)"))
    return _svg(330, marks, "Realised uplift by predicted gain")


def _tick(reach: float) -> float:
    """The largest 1, 2 or 5 times a power of ten up to `reach`."""
    power = 10.0 ** floor(log10(reach)) if reach > 0 else 0.0
    return next((power * factor for factor in (5, 2, 1) if power * factor <= reach), power)


def _line(start: tuple[float, float], end: tuple[float, float], look: str = "") -> str:
    mark = f' class="{look}"' if look else ""
    return (
        f'<line{mark} x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"/>'
    )


def _dot(x: float, y: float) -> str:
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'


def _text(x: float, y: float, text: str, look: str = "", anchor: str = "middle") -> str:
    mark = f' class="{look}"' if look else ""
    return f'<text{mark} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: float, marks: list[str], label: str) -> str:
    return (
        f'<div class="scroll"><svg role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDTH:.0f} {height:.0f}" '
        f'width="{WIDTH:.0f}">{"".join(marks)}</svg></div>'
    )
