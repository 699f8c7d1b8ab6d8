"""From → to: what one more move is worth for every pair of channels, and how much money moves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10

import numpy as np

from realloc.base.numbers import percent, plain, signed, span
from realloc.base.simplex import Floats
from realloc.draw.figure import WIDTH, Figure, nothing
from realloc.draw.svg import Rectangle, label, rect, text, width_of

CELL = 46.0  # height
WIDEST = 116.0
ROOMY = 100.0  # width from which a cell has room for its interval
PALEST = 0.1
DARKEST = 0.6


@dataclass(frozen=True)
class PairGain:
    """What a move from one channel to another is worth, with its interval."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


def gain_matrix(
    channels: Sequence[str],
    gains: Mapping[tuple[str, str], PairGain],
    title: str = "What moving one point of the budget is worth",
    unit: str = "",
) -> Figure:
    """Rows give, columns take; coloured where the interval leaves 0 out."""
    known = {pair: gain for pair, gain in gains.items() if isfinite(gain.value)}
    if not known:
        return nothing(title, "No row holds enough of any channel to move a point of it.")
    grid = _Grid(channels)
    most = max(abs(gain.value) for gain in known.values()) or 1.0
    marks = grid.names("to")
    for (source, target), gain in known.items():
        box = grid.box(channels.index(source), channels.index(target))
        interval = span(gain.low, gain.high)
        said = f"{source} → {target}: {signed(gain.value)} ({interval})"
        marks += _gain_cell(box, gain, said, most)
    marks += grid.diagonal()
    best, gain = max(known.items(), key=lambda pair: pair[1].value)
    words = f"{best[0]} → {best[1]} is worth most, {signed(gain.value)}{_of(unit)}"
    sure = "" if gain.clear else "; its interval includes 0, so this is not certain"
    rows = tuple(
        (source, target, signed(gain.value), span(gain.low, gain.high))
        for (source, target), gain in known.items()
    )
    return Figure(
        title=title,
        sentence=f"{words} (95 % interval {span(gain.low, gain.high)}){sure}. "
        "Coloured cells are those whose interval leaves 0 out.",
        marks=tuple(marks),
        height=grid.height,
        heads=("from", "to", "gain", "95 % interval"),
        rows=rows,
    )


def flow_matrix(
    channels: Sequence[str],
    flows: Floats,
    money: float | None = None,
    title: str = "Money that changes hands",
) -> Figure:
    """Flows (K, K) from rows to columns with what each channel gives and gets in total.

    `money`: all there is, to say which part moves.
    """
    flows = np.asarray(flows, dtype=np.float64)
    total = float(flows.sum())
    if total <= 0:
        return nothing(title, "No money changes hands.")
    grid = _Grid(channels, totals=True)
    most = float(flows.max())
    marks = grid.names("to")
    last = len(channels)
    for i, source in enumerate(channels):
        for j, target in enumerate(channels):
            if i != j:
                said = f"{source} → {target}: {plain(flows[i, j])}"
                marks += _flow_cell(grid.box(i, j), flows[i, j], most, said)
        marks += _flow_cell(
            grid.box(i, last), flows[i].sum(), 0, f"{source} gives in total"
        )
        marks += _flow_cell(
            grid.box(last, i), flows[:, i].sum(), 0, f"{source} gets in total"
        )
    marks += _flow_cell(grid.box(last, last), total, 0, "in total")
    marks += grid.diagonal()
    ordered = [
        divmod(int(cell), last) for cell in np.argsort(-flows, axis=None, kind="stable")
    ]
    rows = [
        (
            channels[i],
            channels[j],
            plain(float(flows[i, j])),
            percent(float(flows[i, j]) / total),
        )
        for i, j in ordered
        if flows[i, j] > 0
    ]
    source, target, largest, _ = rows[0]
    part = f" ({percent(total / money)} of all money)" if money else ""
    return Figure(
        title=title,
        sentence=f"{plain(total)} changes hands{part}; the largest flow is {source} → {target}, "
        f"{largest}.",
        marks=tuple(marks),
        height=grid.height,
        heads=("from", "to", "money", "part of what moves"),
        rows=tuple(rows),
    )


class _Grid:
    """Where the cells of a matrix stand: givers are rows, takers columns."""

    def __init__(self, channels: Sequence[str], totals: bool = False) -> None:
        self.channels = channels
        self.totals = totals
        columns = len(channels) + totals
        self.left = 24 + width_of(["gets", *channels], 150)
        self.width = min(WIDEST, (WIDTH - self.left) / columns)
        self.height = 40 + CELL * columns

    def box(self, row: int, column: int) -> Rectangle:
        """A cell, with a gap around it."""
        x = self.left + self.width * column
        return Rectangle(x + 1.5, 40 + CELL * row + 1.5, self.width - 3, CELL - 3)

    def names(self, way: str) -> list[str]:
        """The names of rows and columns."""
        marks = [text((0, 14), "from ↓", "tick"), text((self.left, 14), f"{way} →", "tick")]
        across = [*self.channels, *(["gives"] if self.totals else [])]
        down = [*self.channels, *(["gets"] if self.totals else [])]
        for place, name in enumerate(across):
            middle = self.left + self.width * (place + 0.5)
            marks.append(label((middle, 33), name, self.width - 6, "soft", "middle"))
        for place, name in enumerate(down):
            y = 40 + CELL * (place + 0.5) + 4
            marks.append(label((self.left - 12, y), name, self.left - 16, "soft", "end"))
        return marks

    def diagonal(self) -> list[str]:
        """Cells without a meaning."""
        boxes = [self.box(place, place) for place in range(len(self.channels))]
        return [
            text((box.middle[0], box.middle[1] + 4), "·", "tick", "middle") for box in boxes
        ]


def _gain_cell(box: Rectangle, gain: PairGain, said: str, most: float) -> list[str]:
    """A cell with as many decimals as the largest gain needs; its interval where there is room."""
    look = "gain" if gain.value > 0 else "loss"
    depth = PALEST + (DARKEST - PALEST) * abs(gain.value) / most
    cell = rect(
        box, f"{look} fill" if gain.clear else "cell", said, depth if gain.clear else 1
    )
    decimals = max(0, 1 - floor(log10(most)))
    value, low, high = (
        f"{number:+,.{decimals}f}".replace("-", "−")
        for number in (gain.value, gain.low, gain.high)
    )
    roomy = box.width >= ROOMY
    x, y = box.middle
    shown = text(
        (x, y - 2 if roomy else y + 4), value, "strong" if gain.clear else "soft", "middle"
    )
    if not roomy:
        return [cell, shown]
    interval = label((x, y + 14), f"{low} to {high}", 1.1 * box.width, "small", "middle")
    return [cell, shown, interval]


def _flow_cell(box: Rectangle, amount: float, most: float, said: str) -> list[str]:
    """An amount; shaded by its part of the largest, totals plain."""
    depth = PALEST + (DARKEST - PALEST) * amount / most if most and amount > 0 else 1.0
    look = "gain fill" if most and amount > 0 else "cell"
    words = plain(amount) if amount else "0"
    x, y = box.middle
    value = text((x, y + 4), words, "" if most else "strong", "middle")
    return [rect(box, look, f"{said}: {words}" if not most else said, depth), value]


def _of(unit: str) -> str:
    return f" {unit}" if unit else ""
