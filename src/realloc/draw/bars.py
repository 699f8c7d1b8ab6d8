"""Mixes as bars, today's above the recommended one; and counts of what happened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from realloc.base.numbers import percent
from realloc.draw.figure import WIDTH, Figure, key, nothing
from realloc.draw.palette import CHANNELS, look_of
from realloc.draw.svg import (
    LETTER,
    AxisScale,
    Place,
    Rectangle,
    label,
    rect,
    text,
    width_of,
)

MIX_ROW = 54.0
COUNT_ROW = 28.0
NARROW = 34.0  # a part of a bar that is narrower carries no text
ROUNDING = 5e-4


@dataclass(frozen=True)
class MixRow:
    """A unit, or all units together: its shares now and recommended, and a word on them."""

    name: str
    now: Sequence[float]
    recommended: Sequence[float]
    note: str = ""  # such as the gain


def mix_bars(
    channels: Sequence[str],
    rows: Sequence[MixRow],
    title: str = "Mix, now and recommended",
    sentence: str = "",
) -> Figure:
    """Each row's mix now (pale) above the recommended one."""
    if not rows:
        return nothing(title, sentence or "There is no row to show.")
    left = 70 + width_of([row.name for row in rows], 170)
    noted = [row.note for row in rows if row.note]
    right = WIDTH - (14 + width_of(noted, 170) if noted else 0)
    looks = [look_of(k) for k in range(len(channels))]
    named = [(f"{look} fill", name) for look, name in zip(looks, channels, strict=True)]
    marks = key(
        named[: len(CHANNELS)]
        + ([("cx fill", "others")] if len(named) > len(CHANNELS) else [])
    )
    for i, row in enumerate(rows):
        top = 26 + MIX_ROW * i
        marks.append(label((0, top + 24), row.name, left - 70, "strong"))
        for now, shares in enumerate((row.recommended, row.now)):
            y = top + (0 if now else 21)
            word = "now" if now else "advised"
            marks.append(text((left - 8, y + 13), word, "tick", "end"))
            scale = AxisScale(0, 1, left, right)
            marks += _bar(channels, shares, scale, (y, bool(now)))
        if row.note:
            marks.append(label((right + 12, top + 24), row.note, WIDTH - right - 12))
    numbers = [
        (row.name, name, percent(now), percent(recommended), _points(recommended - now))
        for row in rows
        for name, now, recommended in zip(channels, row.now, row.recommended, strict=True)
    ]
    return Figure(
        title=title,
        sentence=sentence or _say_mix(channels, rows),
        marks=tuple(marks),
        height=26 + MIX_ROW * len(rows) - 8,
        heads=("row", "channel", "now", "recommended", "change"),
        rows=tuple(numbers),
    )


def counts(
    bars: Mapping[str, int],
    title: str,
    sentence: str = "",
    highlighted: Sequence[str] = (),
) -> Figure:
    """Counts as bars, in the order given; `highlighted` ones stand out."""
    if not sum(bars.values()):
        return nothing(title, sentence or "There is nothing to count.")
    total = sum(bars.values())
    left = 12 + width_of(list(bars), 330)
    scale = AxisScale(0, max(bars.values()), left, WIDTH - 120)
    marks: list[str] = []
    for i, (name, count) in enumerate(bars.items()):
        y = COUNT_ROW * i
        width = max(scale(count) - left, 1.0 if count else 0.0)
        marks.append(label((0, y + 17), name, left - 12))
        look = "column" if name in highlighted else "muted"
        marks.append(rect(Rectangle(left, y + 5, width, 17), look, f"{name}: {count:,}"))
        said = f"{count:,} ({percent(count / total)})"
        marks.append(text((left + width + 8, y + 17), said, "tick"))
    first = max(bars, key=lambda name: bars[name])
    rows = tuple(
        (name, f"{count:,}", percent(count / total)) for name, count in bars.items()
    )
    return Figure(
        title=title,
        sentence=sentence
        or f"Most often: {first}, {percent(bars[first] / total)} of {total:,}.",
        marks=tuple(marks),
        height=COUNT_ROW * len(bars),
        heads=("what", "count", "part"),
        rows=rows,
    )


def _bar(
    channels: Sequence[str],
    shares: Sequence[float],
    scale: AxisScale,
    row: tuple[float, bool],
) -> list[str]:
    """One mix; `row` is its place from the top, and whether it is today's."""
    y, now = row
    marks: list[str] = []
    done = 0.0
    for k, (name, share) in enumerate(zip(channels, shares, strict=True)):
        start = scale(done)
        done += share
        box = Rectangle(start, y, max(scale(done) - start - 1, 0), 18)
        look = look_of(k)
        shown = percent(share)
        marks.append(rect(box, f"{look} {'today' if now else 'fill'}", f"{name}: {shown}"))
        if box.width >= max(NARROW, LETTER * len(shown)):
            middle: Place = (box.middle[0], y + 13)
            marks.append(
                text(middle, shown, "small" if now else f"small on-{look}", "middle")
            )
    return marks


def _points(change: float) -> str:
    return (
        "0" if abs(change) < ROUNDING else f"{100 * change:+.1f} points".replace("-", "−")
    )


def _say_mix(channels: Sequence[str], rows: Sequence[MixRow]) -> str:
    changes = [
        (recommended - now, name, row.name)
        for row in rows
        for name, now, recommended in zip(channels, row.now, row.recommended, strict=True)
    ]
    up = max(changes)
    down = min(changes)
    if up[0] < ROUNDING:
        return "Every mix stays as it is."
    where = f" ({up[2]})" if len(rows) > 1 else ""
    back = f" ({down[2]})" if len(rows) > 1 else ""
    return (
        f"{up[1]} rises most, by {_points(up[0])[1:]}{where}; "
        f"{down[1]} falls most, by {_points(down[0])[1:]}{back}."
    )
