"""Distributions, and values over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.numbers import counted, percent, plain
from realloc.base.simplex import Floats
from realloc.draw.figure import WIDTH, Figure, key, nothing
from realloc.draw.palette import look_of
from realloc.draw.svg import (
    LETTER,
    AxisScale,
    Rectangle,
    dot,
    fit,
    line,
    path,
    polyline,
    rect,
    text,
)

TALL = 210.0
LEFT = 60.0
BINS = 30
TIMES_SHOWN = 6
DIRECT = 4  # lines up to which each is named at its end


@dataclass(frozen=True, eq=False)
class Series:
    """Values over time, with their intervals if they are known."""

    name: str
    times: NDArray[np.datetime64]
    values: Floats
    low: Floats | None = None
    high: Floats | None = None


def bin_values(values: Floats, bins: int = BINS) -> tuple[Floats, NDArray[np.intp]]:
    """Edges and counts of a distribution; the outermost hundredths share the end bins."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.zeros(1), np.zeros(0, np.intp)
    low, high = np.quantile(known, [0.005, 0.995])
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1)
    if low < 0 < high:  # 0 is an edge, so that no column holds gains and losses
        edges = edges - edges[np.abs(edges).argmin()]
        low, high = edges[0], edges[-1]
    return edges, np.histogram(np.clip(known, low, high), edges)[0]


def distribution(
    edges: Floats, numbers: NDArray[np.intp], title: str, axis: str, sentence: str = ""
) -> Figure:
    """How many values lie between two edges each; pairs with `bin_values`."""
    total = int(numbers.sum())
    if not total:
        return nothing(title, "There is no value to show.")
    across = AxisScale(float(edges[0]), float(edges[-1]), LEFT, WIDTH - 20)
    up = AxisScale(0, float(numbers.max()), TALL, 12)
    marks: list[str] = []
    for tick in up.ticks(4):
        marks.append(
            line((LEFT, up(tick)), (WIDTH - 20, up(tick)), "grid" if tick else "axis")
        )
        marks.append(text((LEFT - 8, up(tick) + 4), plain(tick), "tick", "end"))
    for k, number in enumerate(numbers):
        left = across(float(edges[k]))
        box = Rectangle(
            left,
            up(float(number)),
            across(float(edges[k + 1])) - left - 1,
            TALL - up(float(number)),
        )
        said = f"{plain(edges[k])} to {plain(edges[k + 1])}: {number:,}"
        below = float(edges[k + 1]) <= 0 or (float(edges[k]) + float(edges[k + 1])) < 0
        marks.append(rect(box, "loss fill" if below else "column", said))
    for tick in across.ticks(7):
        marks.append(text((across(tick), TALL + 17), plain(tick), "tick", "middle"))
    if edges[0] < 0 < edges[-1]:
        marks.append(line((across(0), 12), (across(0), TALL), "axis"))
    marks.append(text((WIDTH - 20, TALL + 36), f"{fit(axis, 400)} →", "soft", "end"))
    return Figure(
        title=title,
        sentence=sentence or _say_middle(edges, numbers),
        marks=tuple(marks),
        height=TALL + 42,
        heads=("from", "to", "count"),
        rows=tuple(
            (plain(edges[k]), plain(edges[k + 1]), f"{number:,}")
            for k, number in enumerate(numbers)
        ),
    )


def time_series(
    series: Sequence[Series], title: str, axis: str = "", sentence: str = ""
) -> Figure:
    """Lines over time with their intervals as bands; gaps where a value is not known."""
    drawn = [one for one in series if len(one.times) and np.isfinite(one.values).any()]
    if not drawn or max(len(one.times) for one in drawn) < 2:
        return nothing(
            title, "Fewer than two points in time are known, so there is no course."
        )
    times = np.unique(np.concatenate([one.times for one in drawn])).astype("datetime64[s]")
    ends = np.concatenate([values for one in drawn for values in _values(one)])
    ends = ends[np.isfinite(ends)]
    low = (
        float(min(0.0, ends.min())) if ends.min() < 0.5 * ends.max() else float(ends.min())
    )
    high = float(ends.max())
    many = len(drawn) > DIRECT
    across = AxisScale(
        _seconds(times[0]), _seconds(times[-1]), LEFT, WIDTH - (20 if many else 130)
    )
    top = 34.0 if many else 20.0
    up = AxisScale(low, high if high > low else low + 1, TALL, top)
    marks = (
        key([(f"{look_of(k)} fill", one.name) for k, one in enumerate(drawn)])
        if many
        else []
    )
    for tick in up.ticks():
        marks.append(
            line((LEFT, up(tick)), (across.end, up(tick)), "axis" if tick == 0 else "grid")
        )
        marks.append(text((LEFT - 8, up(tick) + 4), plain(tick), "tick", "end"))
    marks += _time_ticks(times, across)
    for k, one in enumerate(drawn):
        marks += _draw_line(one, look_of(k), across, up)
        if not many:
            last = int(np.flatnonzero(np.isfinite(one.values))[-1])
            y = up(float(one.values[last])) + 4
            marks.append(text((across.end + 10, y), fit(one.name, 120), look="soft"))
    if axis:
        marks.append(text((0, top - 10), f"↑ {fit(axis, 400)}", "soft"))
    return Figure(
        title=title,
        sentence=sentence or _say_change(drawn),
        marks=tuple(marks),
        height=TALL + 26,
        heads=("what", "time", "value"),
        rows=tuple(
            (one.name, _say_time(time, times), plain(value))
            for one in drawn
            for time, value in zip(one.times, one.values.tolist(), strict=True)
        ),
    )


def _time_ticks(times: NDArray[np.datetime64], across: AxisScale) -> list[str]:
    """Evenly spread times under the axis, both ends first; none touches another."""
    last = len(times) - 1
    between = np.rint(np.linspace(0, last, TIMES_SHOWN)[1:-1]).astype(int).tolist()
    marks: list[str] = []
    taken: list[float] = []
    for place in (0, last, *between):
        words = _say_time(times[place], times)
        x = across(_seconds(times[place]))
        if all(abs(x - other) >= LETTER * len(words) for other in taken):
            marks.append(text((x, TALL + 17), words, "tick", "middle"))
            taken.append(x)
    return marks


def _values(one: Series) -> list[Floats]:
    return [values for values in (one.values, one.low, one.high) if values is not None]


def _draw_line(one: Series, look: str, across: AxisScale, up: AxisScale) -> list[str]:
    known = np.isfinite(one.values)
    order = np.argsort(one.times)
    marks: list[str] = []
    runs = np.split(order, np.flatnonzero(~known[order]))
    for part in runs:
        run = [int(place) for place in part if known[place]]
        xs = [across(_seconds(one.times[place])) for place in run]
        if one.low is not None and one.high is not None and len(run) > 1:
            above = [(x, up(float(one.high[p]))) for x, p in zip(xs, run, strict=True)]
            below = [(x, up(float(one.low[p]))) for x, p in zip(xs, run, strict=True)]
            marks.append(
                path(polyline([*above, *below[::-1]], closed=True), f"{look} band")
            )
        course = [(x, up(float(one.values[p]))) for x, p in zip(xs, run, strict=True)]
        if len(course) > 1:
            marks.append(path(polyline(course), f"{look} curve", one.name))
        elif course:
            marks.append(dot(course[0], f"{look} fill", one.name, radius=3))
    return marks


def _seconds(time: Any) -> float:
    return float(time.astype("datetime64[s]").astype(np.int64))


def _say_time(time: Any, times: NDArray[np.datetime64]) -> str:
    """The day, with the time of day where all are within three days."""
    short = (times[-1] - times[0]) <= np.timedelta64(3, "D")
    whole = bool((times == times.astype("datetime64[D]")).all())
    if short and not whole:
        return str(time.astype("datetime64[m]")).replace("T", " ")
    return str(time.astype("datetime64[D]"))


def _say_middle(edges: Floats, numbers: NDArray[np.intp]) -> str:
    part = np.cumsum(numbers) / numbers.sum()
    ends = [float(edges[int(np.searchsorted(part, by)) + 1]) for by in (0.05, 0.5, 0.95)]
    below = float(numbers[edges[1:] <= 0].sum() / numbers.sum())
    lost = f" {percent(below)} lie below 0." if below else ""
    half = f"Half of {counted(int(numbers.sum()), 'value')} lie below {plain(ends[1])}"
    return f"{half}, nine tenths between {plain(ends[0])} and {plain(ends[2])}.{lost}"


def _say_change(series: Sequence[Series]) -> str:
    one = series[0]
    known = [value for value in one.values.tolist() if isfinite(value)]
    return f"{one.name} goes from {plain(known[0])} to {plain(known[-1])}."
