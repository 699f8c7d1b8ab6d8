"""Marks of a drawing: every text is escaped, every look is a class of the style sheet.

No mark carries a `style` attribute, so that a strict content policy lets all of them pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

LETTER = 7.0  # width of a letter of 12 px, in the widest of the usual fonts
Place = tuple[float, float]  # from the left, from the top


@dataclass(frozen=True)
class Rectangle:
    """A rectangle: its left upper corner, width and height."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> Place:
        """Its centre."""
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class AxisScale:
    """Maps values from `low` to `high` to places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a value stands."""
        part = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + part * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values between the ends."""
        return round_values(self.low, self.high, most)


def round_values(low: float, high: float, most: int = 5) -> list[float]:
    """Up to `most` + 1 multiples of 1, 2 or 5 times a power of ten.

    >>> round_values(-0.3, 1.1, 4)
    [0.0, 0.5, 1.0]
    """
    if not high > low or not isfinite(high - low):
        return [low]
    raw = (high - low) / most
    power = 10.0 ** floor(log10(raw))
    step = next(power * by for by in (1, 2, 5, 10) if power * by >= raw * (1 - 1e-9))
    first = ceil(low / step - 1e-9)
    last = floor(high / step + 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)]


def line(start: Place, end: Place, look: str = "", title: str = "") -> str:
    """A straight line."""
    ends = f'x1="{_n(start[0])}" y1="{_n(start[1])}" x2="{_n(end[0])}" y2="{_n(end[1])}"'
    return _mark("line", ends, look, title)


def rect(box: Rectangle, look: str = "", title: str = "", opacity: float = 1.0) -> str:
    """A rectangle; `title` shows when somebody points at it."""
    size = f'width="{_n(max(box.width, 0))}" height="{_n(max(box.height, 0))}"'
    faded = f' fill-opacity="{_n(opacity, 3)}"' if opacity < 1 else ""
    return _mark("rect", f'x="{_n(box.x)}" y="{_n(box.y)}" {size}{faded}', look, title)


def dot(place: Place, look: str = "dot", title: str = "", radius: float = 4.5) -> str:
    """A small disc."""
    where = f'cx="{_n(place[0])}" cy="{_n(place[1])}" r="{_n(radius)}"'
    return _mark("circle", where, look, title)


def path(course: str, look: str = "", title: str = "") -> str:
    """A path of SVG commands."""
    return _mark("path", f'd="{course}"', look, title)


def polyline(places: Sequence[Place], closed: bool = False) -> str:
    """The commands of a path through places."""
    through = "L".join(f"{_n(x)} {_n(y)}" for x, y in places)
    return f"M{through}{'Z' if closed else ''}"


def text(place: Place, words: str, look: str = "", anchor: str = "start") -> str:
    """A line of text; its anchor is start, middle or end."""
    where = f'x="{_n(place[0])}" y="{_n(place[1])}"'
    aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
    shown = f' class="{look}"' if look else ""
    return f"<text {where}{aligned}{shown}>{escape(words)}</text>"


def label(
    place: Place, words: str, width: float, look: str = "", anchor: str = "start"
) -> str:
    """A text that is cut off to fit; the whole of it shows when somebody points at it."""
    short = fit(words, width)
    if short == words:
        return text(place, words, look, anchor)
    return f"<g><title>{escape(words)}</title>{text(place, short, look, anchor)}</g>"


def fit(words: str, width: float) -> str:
    """As much of a text as fits, with a sign that some is missing.

    >>> fit("spring campaign", 70.0)
    'spring ca…'
    """
    most = max(2, int(width / LETTER))
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def width_of(words: Sequence[str], most: float) -> float:
    """The width of the longest text, but no more than `most`."""
    return min(most, LETTER * max((len(word) for word in words), default=0))


def _mark(tag: str, attributes: str, look: str, title: str) -> str:
    shown = f' class="{look}"' if look else ""
    if not title:
        return f"<{tag} {attributes}{shown}/>"
    return f"<{tag} {attributes}{shown}><title>{escape(title)}</title></{tag}>"


def _n(value: float, digits: int = 1) -> str:
    """A coordinate with no more digits than a screen shows."""
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if value else "0"
