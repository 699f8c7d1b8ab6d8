"""Money by channel now and recommended, and what flows between: for up to six channels."""

from collections.abc import Sequence

import numpy as np

from realloc.base.numbers import percent, plain, signed
from realloc.base.simplex import Floats
from realloc.draw.figure import WIDTH, Figure, nothing
from realloc.draw.matrix import flow_matrix
from realloc.draw.palette import look_of
from realloc.draw.svg import Place, Rectangle, label, path, rect, text

MOST_CHANNELS = 6
TALL = 300.0
GAP = 14.0
LEFT = 170.0
RIGHT = WIDTH - 170.0
BLOCK = 14.0


def money_flow(
    channels: Sequence[str],
    now: Sequence[float],
    flows: Floats,
    title: str = "Where the money goes",
) -> Figure:
    """Spend by channel now (left) and recommended (right); a matrix for more than six channels."""
    flows = np.asarray(flows, dtype=np.float64)
    spend = np.asarray(now, dtype=np.float64)
    money = float(spend.sum())
    if len(channels) > MOST_CHANNELS:
        return flow_matrix(channels, flows, money, title)
    if money <= 0:
        return nothing(title, "There is no money to split.")
    after = spend - flows.sum(axis=1) + flows.sum(axis=0)
    ribbons = flows + np.diag(spend - flows.sum(axis=1))
    height = TALL / money
    tops = [_tops(amounts * height) for amounts in (spend, after)]
    marks = _ribbons(channels, ribbons, tops, height)
    for k, name in enumerate(channels):
        marks += _block(k, name, (LEFT - BLOCK, tops[0][k]), spend[k], money)
        marks += _block(k, name, (RIGHT, tops[1][k]), after[k], money)
    marks.append(text((LEFT, 12), "now", "tick", "end"))
    marks.append(text((RIGHT, 12), "recommended", "tick"))
    change = after - spend
    rows = tuple(
        (
            name,
            plain(spend[k]),
            plain(after[k]),
            signed(change[k]),
            percent(after[k] / money),
        )
        for k, name in enumerate(channels)
    )
    return Figure(
        title=title,
        sentence=_say(channels, change, float(flows.sum()), money),
        marks=tuple(marks),
        height=24 + TALL + GAP * (len(channels) - 1),
        heads=("channel", "now", "recommended", "change", "part of all"),
        rows=rows,
    )


def _tops(heights: Floats) -> Floats:
    """Where each block begins."""
    below = np.concatenate([[0.0], np.cumsum(heights + GAP)[:-1]])
    return 22 + below


def _ribbons(
    channels: Sequence[str], ribbons: Floats, tops: list[Floats], height: float
) -> list[str]:
    """What stays is pale, what moves is strong; each in the colour of the giver."""
    starts = tops[0].copy()
    ends = tops[1].copy()
    pale: list[str] = []
    strong: list[str] = []
    for i, source in enumerate(channels):
        for j, target in enumerate(channels):
            tall = ribbons[i, j] * height
            if tall > 0:
                said = f"{source} → {target}: {plain(ribbons[i, j])}"
                if i == j:
                    said = f"stays with {source}: {plain(ribbons[i, j])}"
                look = f"{look_of(i)} ribbon{' stays' if i == j else ''}"
                shape = path(_ribbon(starts[i], ends[j], tall), look, said)
                (pale if i == j else strong).append(shape)
            starts[i] += tall
            ends[j] += tall
    return pale + strong


def _ribbon(start: float, end: float, tall: float) -> str:
    middle = (LEFT + RIGHT) / 2
    return (
        f"M{LEFT:.0f} {start:.1f}C{middle:.0f} {start:.1f} "
        f"{middle:.0f} {end:.1f} {RIGHT:.0f} {end:.1f}"
        f"V{end + tall:.1f}C{middle:.0f} {end + tall:.1f} {middle:.0f} {start + tall:.1f} "
        f"{LEFT:.0f} {start + tall:.1f}Z"
    )


def _block(k: int, name: str, place: Place, amount: float, money: float) -> list[str]:
    x, top = place
    tall = TALL * amount / money
    left = x < WIDTH / 2
    anchor = "end" if left else "start"
    at = x - 8 if left else x + BLOCK + 8
    y = top + tall / 2
    said = f"{plain(amount)} ({percent(amount / money)})"
    return [
        rect(
            Rectangle(x, top, BLOCK, max(tall, 1)), f"{look_of(k)} fill", f"{name}: {said}"
        ),
        label((at, y - 1), name, LEFT - 44, "strong", anchor),
        text((at, y + 13), said, "tick", anchor),
    ]


def _say(channels: Sequence[str], change: Floats, moved: float, money: float) -> str:
    if moved <= 0:
        return f"All {plain(money)} stays where it is."
    up = int(change.argmax())
    down = int(change.argmin())
    return (
        f"{plain(moved)} of {plain(money)} changes hands ({percent(moved / money)}): "
        f"{channels[up]} {signed(change[up])}, {channels[down]} {signed(change[down])}."
    )
