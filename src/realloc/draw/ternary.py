"""Three channels as a triangle: support of the logs, logged mixes, which way pays, and a move.

Each corner is a whole budget in one channel; the distance from the side across is its share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from realloc.base.numbers import percent
from realloc.base.simplex import Floats, Mask
from realloc.draw.figure import Figure, nothing
from realloc.draw.svg import Place, dot, label, line, path, polyline, text

SIDE = 460.0
TALL = SIDE * sqrt(3) / 2
LEFT = 130.0
TOP = 40.0
ARROW = 26.0  # length of the longest
MOST_POINTS = 1_500  # logged ones; more would only be one stain


@dataclass(frozen=True, eq=False)
class TernaryField:
    """Points (m, 3) and the way that pays there (m, 3), in shares."""

    places: Floats
    ways: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class TernaryPlot:
    """What to draw; every part may be missing."""

    inside: Mask | None = None  # of the triangles of `lattice(n)`
    lattice: int = 0  # n
    logged: Floats | None = None
    field: TernaryField | None = None
    trace: Floats | None = None  # start, steps, end

    @property
    def way(self) -> Floats:
        """The trace; no rows where there is none."""
        return np.empty((0, 3)) if self.trace is None else self.trace


def lattice(n: int) -> Floats:
    """The centres (n², 3) of the small triangles that n lines each way cut; row by row."""
    return _corners(n).mean(axis=1)


def ternary(
    channels: Sequence[str],
    plot: TernaryPlot,
    title: str = "Support, logged mixes and the recommended move",
    sentence: str = "",
) -> Figure:
    """The triangle of three channels."""
    if len(channels) != 3:
        why = f"A triangle shows three channels, and there are {len(channels)}."
        return nothing(title, why)
    marks: list[str] = []
    if plot.inside is not None and plot.inside.any():
        small = _corners(plot.lattice)[plot.inside]
        course = "".join(
            polyline([_at(corner) for corner in three], True) for three in small
        )
        marks.append(path(course, "region", "where the logs hold evidence"))
    marks += _frame(channels)
    if plot.logged is not None:
        step = max(1, -(-len(plot.logged) // MOST_POINTS))
        marks += [dot(_at(shares), "logged", radius=1.8) for shares in plot.logged[::step]]
    if plot.field is not None:
        marks += _arrows(plot.field)
    marks += _trace(plot.way)
    marks += _legend(plot)
    rows: list[tuple[str, ...]] = []
    for place, shares in enumerate(plot.way):
        name = "now" if place == 0 else f"step {place}"
        if 0 < place == len(plot.way) - 1:
            name = "recommended"
        rows.append((name, *(percent(float(share)) for share in shares)))
    return Figure(
        title=title,
        sentence=sentence or _say(channels, plot),
        marks=tuple(marks),
        height=TOP + TALL + 40,
        heads=("mix", *channels),
        rows=tuple(rows),
    )


def _at(shares: Floats) -> Place:
    """The first channel is the left corner, the second the right one, the third the top."""
    x = LEFT + SIDE * float(shares[1] + shares[2] / 2)
    return x, TOP + TALL * (1 - float(shares[2]))


def _corners(n: int) -> Floats:
    """The corners (n², 3, 3) of the small triangles."""
    found: list[Floats] = []
    for i in range(n):
        for j in range(n - i):
            k = n - i - j
            up = [(i, j, k), (i + 1, j, k - 1), (i, j + 1, k - 1)]
            found.append(np.array(up, dtype=np.float64) / n)
            if k >= 2:
                down = [(i + 1, j, k - 1), (i, j + 1, k - 1), (i + 1, j + 1, k - 2)]
                found.append(np.array(down, dtype=np.float64) / n)
    return np.array(found).reshape(-1, 3, 3)


def _frame(channels: Sequence[str]) -> list[str]:
    corners = np.eye(3)
    marks: list[str] = []
    for k in range(3):
        for part in (0.25, 0.5, 0.75):
            ends: list[Place] = []
            for other in range(3):
                if other != k:
                    end = np.zeros(3)
                    end[k] = part
                    end[other] = 1 - part
                    ends.append(_at(end))
            marks.append(line(ends[0], ends[1], "grid"))
    marks.append(path(polyline([_at(corner) for corner in corners], True), "outline"))
    left, right, top = (_at(corner) for corner in corners)
    marks.append(
        label((left[0] - 6, left[1] + 20), f"all {channels[0]}", 160, "strong", "middle")
    )
    marks.append(
        label((right[0] + 6, right[1] + 20), f"all {channels[1]}", 160, "strong", "middle")
    )
    marks.append(
        label((top[0], top[1] - 10), f"all {channels[2]}", 220, "strong", "middle")
    )
    return marks


def _arrows(ways: TernaryField) -> list[str]:
    """Each way as an arrow; the longest has a fixed length."""
    ends = np.array([_direction(way) for way in ways.ways]).reshape(-1, 2)
    lengths = np.hypot(ends[:, 0], ends[:, 1])
    longest = lengths.max(initial=0.0)
    if longest <= 0:
        return []
    marks: list[str] = []
    for place, end, length in zip(ways.places, ends, lengths, strict=True):
        if length < 0.02 * longest:
            continue
        x, y = _at(place)
        dx, dy = ARROW * end / longest
        tip = (x + dx, y + dy)
        marks.append(path(polyline([(x, y), tip]) + _head(tip, dx, dy), "arrow"))
    return marks


def _direction(way: Floats) -> tuple[float, float]:
    return float(way[1] + way[2] / 2), -float(way[2]) * sqrt(3) / 2


def _head(tip: Place, dx: float, dy: float, size: float = 5.0) -> str:
    """The two strokes of an arrow's head."""
    length = sqrt(dx * dx + dy * dy) or 1.0
    ux, uy = dx / length, dy / length
    one = (tip[0] - size * (ux + 0.5 * uy), tip[1] - size * (uy - 0.5 * ux))
    other = (tip[0] - size * (ux - 0.5 * uy), tip[1] - size * (uy + 0.5 * ux))
    return polyline([one, tip, other])


def _trace(trace: Floats) -> list[str]:
    if not len(trace):
        return []
    places = [_at(shares) for shares in trace]
    marks: list[str] = []
    if len(places) > 1:
        marks.append(path(polyline(places), "trace"))
        marks += [dot(place, "end", radius=3) for place in places[1:-1]]
        marks.append(dot(places[-1], "end", "recommended", radius=6))
    marks.append(dot(places[0], "start", "now", radius=5))
    return marks


def _legend(plot: TernaryPlot) -> list[str]:
    x = LEFT + SIDE - 40
    marks: list[str] = []
    y = TOP + 6
    if plot.inside is not None:
        marks += [
            path(f"M{x:.0f} {y - 9:.0f}h12v12h-12Z", "region"),
            text((x + 20, y + 2), "supported by the logs", "soft"),
        ]
        y += 20
    if plot.logged is not None:
        marks += [
            dot((x + 6, y - 3), "logged", radius=2.5),
            text((x + 20, y + 2), "logged mixes", "soft"),
        ]
        y += 20
    if plot.field is not None:
        arrow = polyline([(x - 4, y - 3), (x + 12, y - 3)]) + _head((x + 12, y - 3), 1, 0)
        marks += [path(arrow, "arrow"), text((x + 20, y + 2), "which way pays", "soft")]
        y += 20
    if len(plot.way) > 1:
        marks += [
            dot((x + 2, y - 3), "start", radius=4),
            dot((x + 12, y - 3), "end", radius=4),
        ]
        marks.append(text((x + 22, y + 2), "now and recommended", "soft"))
    elif len(plot.way):
        marks += [
            dot((x + 6, y - 3), "start", radius=4),
            text((x + 20, y + 2), "now, and kept", "soft"),
        ]
    return marks


def _say(channels: Sequence[str], plot: TernaryPlot) -> str:
    parts: list[str] = []
    if len(plot.way) > 1:
        change = plot.way[-1] - plot.way[0]
        up = int(change.argmax())
        down = int(change.argmin())
        parts.append(
            f"The move goes from {channels[down]} towards {channels[up]}, by "
            f"{100 * change[up]:.1f} points of the budget."
        )
    elif len(plot.way):
        parts.append("The mix is kept.")
    if plot.inside is not None:
        parts.append(
            f"The logs support {percent(float(plot.inside.mean()))} of all mixes at this state."
        )
    return " ".join(parts) or "Each corner is a whole budget in one channel."
