"""Values with their intervals on one scale, and realised values against predicted ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from realloc.base.numbers import counted, plain, signed, span
from realloc.draw.figure import WIDTH, Figure, nothing
from realloc.draw.svg import AxisScale, dot, label, line, text, width_of

ROW = 30.0
TALL = 280.0
BOTTOM = 44.0
LEFT = 66.0


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


def intervals(
    bars: Sequence[Bar], title: str, sentence: str = "", unit: str = ""
) -> Figure:
    """Values with intervals on one scale that holds 0, limits dashed; no interval, no bar."""
    shown = [bar for bar in bars if isfinite(bar.low) and isfinite(bar.high)]
    if not shown:
        return nothing(title, "Nothing here has an interval that could be drawn.")
    left = 14 + width_of([bar.name for bar in shown], 300)
    ends = [end for bar in shown for end in (bar.low, bar.high, bar.limit or 0.0)]
    low = min(0.0, *ends)
    high = max(0.0, *ends)
    around = 0.06 * (high - low or 1.0)
    scale = AxisScale(low - around, high + around, left, WIDTH - 150)
    foot = ROW * len(shown)
    marks: list[str] = []
    for tick in scale.ticks():
        x = scale(tick)
        marks.append(line((x, 0), (x, foot), "grid" if tick else "axis"))
        words = f"{signed(tick)} {unit}".strip()
        marks.append(text((x, foot + 15), words, "tick", "middle"))
    for i, bar in enumerate(shown):
        y = ROW * (i + 0.5)
        said = f"{bar.name}: {signed(bar.value)} ({span(bar.low, bar.high)})"
        marks.append(label((0, y + 4), bar.name, left - 14))
        marks.append(line((scale(bar.low), y), (scale(bar.high), y), "range", said))
        marks.append(dot((scale(bar.value), y), title=said))
        marks.append(
            text((WIDTH - 138, y + 4), f"{signed(bar.value)} {unit}".strip(), "strong")
        )
        if bar.limit is not None:
            x = scale(bar.limit)
            marks.append(
                line((x, y - 11), (x, y + 11), "limit", f"limit {signed(bar.limit)}")
            )
    return Figure(
        title=title,
        sentence=sentence or _say_sides(shown),
        marks=tuple(marks),
        height=foot + 22,
        heads=("what", "value", "interval", "limit"),
        rows=tuple(
            (
                bar.name,
                signed(bar.value),
                span(bar.low, bar.high),
                "" if bar.limit is None else signed(bar.limit),
            )
            for bar in shown
        ),
    )


def calibration(
    points: Sequence[Point], title: str, axes: tuple[str, str] = ("predicted", "realised")
) -> Figure:
    """Values with intervals over what was predicted, and the line where both are the same."""
    if len(points) < 2:
        return nothing(
            title, "Two groups or more are needed to compare, and there are fewer."
        )
    low = min(0.0, *(point.x for point in points), *(point.low for point in points))
    high = max(*(point.x for point in points), *(point.high for point in points))
    across = AxisScale(low, high, LEFT, WIDTH - 20)
    up = AxisScale(low, high, TALL, 26)
    marks = [
        line((across(tick), up.end), (across(tick), TALL), "grid")
        for tick in across.ticks()
    ]
    for tick in across.ticks():
        marks.append(
            line((LEFT, up(tick)), (WIDTH - 20, up(tick)), "axis" if tick == 0 else "grid")
        )
        marks.append(text((LEFT - 8, up(tick) + 4), plain(tick), "tick", "end"))
        marks.append(text((across(tick), TALL + 17), plain(tick), "tick", "middle"))
    marks.append(line((across(low), up(low)), (across(high), up(high)), "limit"))
    for point in points:
        x = across(point.x)
        interval = span(point.low, point.high)
        said = f"{axes[0]} {plain(point.x)}, {axes[1]} {plain(point.value)} ({interval})"
        marks.append(line((x, up(point.low)), (x, up(point.high)), "range", said))
        marks.append(dot((x, up(point.value)), title=said))
    marks.append(text((WIDTH - 20, TALL + 36), f"{axes[0]} →", "soft", "end"))
    marks.append(text((LEFT, 10), f"↑ {axes[1]}", "soft"))
    held = sum(point.low <= point.x <= point.high for point in points)
    return Figure(
        title=title,
        sentence=f"The dashed line is where {axes[1]} equals {axes[0]}; it runs through the "
        f"interval of {held} of {counted(len(points), 'group')}.",
        marks=tuple(marks),
        height=TALL + BOTTOM,
        heads=(axes[0], axes[1], "interval"),
        rows=tuple(
            (plain(point.x), plain(point.value), span(point.low, point.high))
            for point in points
        ),
    )


def _say_sides(bars: Sequence[Bar]) -> str:
    above = sum(bar.low > 0 for bar in bars)
    below = sum(bar.high < 0 for bar in bars)
    if len(bars) == 1:
        side = "above 0" if above else "below 0" if below else "on both sides of 0"
        return f"The interval of {bars[0].name} lies {side}."
    return (
        f"Of {len(bars)} intervals {above} lie above 0, {below} below, "
        f"{len(bars) - above - below} on both sides."
    )
