"""One channel's share from nothing to everything: what that would be worth to one unit.

The other channels keep their proportions. A point counts as supported where the whole straight way
to it lies inside the support.
"""

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from realloc.base.errors import LogError
from realloc.base.imports import need
from realloc.base.numbers import percent, readable, span
from realloc.base.simplex import Floats, Mask
from realloc.base.validation import nearest
from realloc.decide.config import DecisionConfig
from realloc.decide.totals import NORMAL_QUANTILE
from realloc.logs import Logs
from realloc.model.explain import SAME_BUDGET
from realloc.model.state import RoundState

POINTS = 51


@dataclass(frozen=True)
class CurvePoint:
    """A share of the channel, what it is worth against the current one, and whether logs know."""

    share: float
    gain: float
    low: float  # of the 95 % interval
    high: float
    support: float
    supported: bool


@dataclass(frozen=True)
class Curve:
    """Gains along the share of one channel."""

    unit: str
    time: str
    channel: str
    current: float
    points: tuple[CurvePoint, ...]

    @property
    def supported(self) -> tuple[float, float] | None:
        """The range of shares around the current one for which the logs hold evidence."""
        known = [point.share for point in self.points if point.supported]
        return (known[0], known[-1]) if known else None

    @property
    def best(self) -> CurvePoint | None:
        """The supported point of most gain."""
        known = [point for point in self.points if point.supported]
        return max(known, key=lambda point: point.gain) if known else None

    def lines(self) -> list[str]:
        """In words."""
        now = f"{self.unit} on {self.time}: {self.channel} has {percent(self.current)}."
        best = self.best
        if best is None or self.supported is None:
            return [f"{now} The logs hold no evidence about other shares of it."]
        low, high = (percent(end) for end in self.supported)
        lines = [f"{now} The logs hold evidence for {low} to {high}."]
        if best.share == self.current or best.gain <= 0:
            lines.append("No other share in that range is expected to gain.")
        else:
            lines.append(
                f"Most is expected at {percent(best.share)}: gain {readable(best.gain)} "
                f"({span(best.low, best.high)})."
            )
        return [*lines, SAME_BUDGET]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_frame(self) -> Any:
        """The points as a pandas frame."""
        return need("pandas").DataFrame([asdict(point) for point in self.points])


def draw_curve(
    state: RoundState, logs: Logs, unit: Any, channel: str, config: DecisionConfig
) -> Curve:
    """The curve of a unit's last row."""
    channels = logs.schema.channels
    if channel not in channels:
        raise LogError(
            f"Expected one of the channels {', '.join(channels)}, got {channel!r}."
            f"{nearest(channel, channels)}"
        )
    own = logs.take(_last_row(logs, unit))
    place = channels.index(channel)
    start = np.array(own.shares)
    x = state.encode(own)
    ends, current = _along(start[0], place)
    row = np.array([0])
    term = state.terms(x, start, config)[0]
    gain, error = (values[0] for values in term.gain_and_error(row, start, ends[None]))
    known = state.support_at(x)
    inside = known.allowed(row, start, ends[None])[0]
    inside[current] |= bool(known.inside(row, start[:, None], start)[0, 0])
    scores = known.score(
        np.zeros(len(ends), np.intp), np.repeat(start, len(ends), axis=0), ends
    )
    half = NORMAL_QUANTILE * error
    columns = (ends[:, place], gain, gain - half, gain + half, scores)
    points = [
        CurvePoint(*(float(value) for value in values), supported=bool(ok))
        for *values, ok in zip(*columns, _around(inside, current), strict=True)
    ]
    return Curve(
        unit=str(unit),
        time=str(own.times[0]).removesuffix("T00:00:00.000000"),
        channel=channel,
        current=float(start[0, place]),
        points=tuple(points),
    )


def _last_row(logs: Logs, unit: Any) -> Any:
    texts = logs.units.cast("string").to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(np.asarray(texts, dtype=np.str_)[logs.unit_codes] == str(unit))
    if not len(rows):
        raise LogError(
            f"Expected a unit of these rows, but {str(unit)!r} is not among them."
        )
    return rows[[int(np.argmax(logs.times[rows]))]]


def _along(start: Floats, place: int) -> tuple[Floats, int]:
    """Shares (m, K) where one channel has from nothing to all, and which of them is `start`."""
    shares = np.unique(np.append(np.linspace(0, 1, POINTS), start[place]))
    others = np.delete(start, place)
    total = others.sum()
    parts = others / total if total > 0 else np.full(len(others), 1 / len(others))
    ends = np.insert(np.outer(1 - shares, parts), place, shares, axis=1)
    current = int(np.searchsorted(shares, start[place]))
    ends[current] = start
    return ends, current


def _around(inside: Mask, current: int) -> Mask:
    """The stretch without a gap that holds the current point."""
    stretch = np.zeros_like(inside)
    if not inside[current]:
        return stretch
    gaps = np.flatnonzero(~inside)
    for before, after in pairwise([-1, *gaps.tolist(), len(inside)]):
        if before < current < after:
            stretch[before + 1 : after] = True
    return stretch
