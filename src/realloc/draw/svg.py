"""Figures as SVG in the colours of the page: intervals on one scale, and values over x."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, isfinite, log10

WIDTH = 720.0
ROW = 28.0  # height of a bar with its name
LETTER = 6.6  # width of a letter
PLOT_WIDTH = 596.0
PLOT_HEIGHT = 270.0
Place = tuple[float, float]  # from the left, from the top


@dataclass(frozen=True)
class Bar:
    """A named value with its interval, and a limit that it should not cross."""

    name: str
    value: float
    low: float
    high: float
    limit: float | None = None


@dataclass(frozen=True)
class Point:
    """A value with its interval at `x`."""

    x: float
    value: float
    low: float
    high: float


def forest(bars: Sequence[Bar], unit: str, label: str) -> str:
    """Values with intervals on one scale around 0, limits dotted; no interval, no bar."""
    bars = [bar for bar in bars if isfinite(bar.low) and isfinite(bar.high)]
    if not bars:
        return ""
    left = min(300.0, 16 + LETTER * max(len(bar.name) for bar in bars))
    ends = [abs(end) for bar in bars for end in (bar.low, bar.high, bar.limit or 0.0)]
    reach = 1.1 * max(1e-9, *ends)
    foot = ROW * len(bars)

    def across(value: float) -> float:
        return left + (value / reach + 1) / 2 * (WIDTH - left - 20)

    marks: list[str] = []
    step = _tick(reach)
    for value in (-step, step, 0.0):
        x = across(value)
        marks.append(_line((x, 0), (x, foot), "grid" if value else ""))
        number = f"{value:+g}" if value else "0"
        marks.append(_text((x, foot + 14), f"{number} {unit}".strip(), "tick"))
    for i, bar in enumerate(bars):
        y = ROW * (i + 0.5)
        marks.append(_text((0, y + 4), bar.name, anchor="start"))
        marks.append(_line((across(bar.low), y), (across(bar.high), y), "bar"))
        marks.append(_dot((across(bar.value), y)))
        if bar.limit is not None:
            x = across(bar.limit)
            marks.append(_line((x, y - 10), (x, y + 10), "limit"))
    return _figure(foot + 20, marks, label)


def scatter(points: Sequence[Point], caption: str, label: str) -> str:
    """Values with intervals over x, the line value = x dotted; empty for fewer than two points."""
    if len(points) < 2:
        return ""
    left = min(0.0, *(point.x for point in points))
    right = max(point.x for point in points) * 1.05 + 1e-12
    bottom = min(left, *(point.low for point in points))
    top = max(right, *(point.high for point in points))

    def at(x: float, y: float) -> Place:
        across = 64 + (x - left) / (right - left) * PLOT_WIDTH
        return across, 290 - (y - bottom) / (top - bottom) * PLOT_HEIGHT

    marks = [
        _line(at(left, 0), at(right, 0)),
        _line(at(left, bottom), at(left, top)),
        _line(at(left, left), at(right, right), "limit"),
    ]
    for point in points:
        marks.append(_line(at(point.x, point.low), at(point.x, point.high), "bar"))
        marks.append(_dot(at(point.x, point.value)))
    for y in {0.0, _tick(top)}:
        marks.append(_text((58, at(left, y)[1] + 4), f"{y:g}", "tick", "end"))
    x = _tick(right)
    marks.append(_text((at(x, 0)[0], 306), f"{x:g}", "tick"))
    marks.append(_text((362, 324), caption))
    return _figure(330, marks, label)


def _tick(reach: float) -> float:
    """The largest 1, 2 or 5 times a power of ten up to `reach`."""
    power = 10.0 ** floor(log10(reach)) if reach > 0 else 0.0
    return next((power * factor for factor in (5, 2, 1) if power * factor <= reach), power)


def _line(start: Place, end: Place, look: str = "") -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f"<line{_class(look)} {ends}/>"


def _dot(place: Place) -> str:
    return f'<circle class="dot" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="4.5"/>'


def _text(place: Place, text: str, look: str = "", anchor: str = "middle") -> str:
    where = f'x="{place[0]:.1f}" y="{place[1]:.1f}" text-anchor="{anchor}"'
    return f"<text{_class(look)} {where}>{escape(text)}</text>"


def _class(look: str) -> str:
    return f' class="{look}"' if look else ""


def _figure(height: float, marks: list[str], label: str) -> str:
    box = f'viewBox="0 0 {WIDTH:.0f} {height:.0f}" width="{WIDTH:.0f}"'
    drawing = f'<svg role="img" aria-label="{escape(label)}" {box}>{"".join(marks)}</svg>'
    return f'<div class="scroll">{drawing}</div>'
