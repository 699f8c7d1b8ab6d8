"""Shares that keep every bound: the nearest to those a row has (`repair_rows`), and to those a
search found (`settle_rows`).

Nearest means least total variation: as little money as possible changes hands. Channels that gain
or lose do so in proportion to what they hold. Bounds of channels are kept to the last bit; bounds
of groups too, unless nothing but the bound itself is left to a group (then within float error).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Mask, Rows, total_variation
from realloc.decide.constraints.bounds import Bounds, explain_breach, explain_clash
from realloc.decide.constraints.constraints import SLACK
from realloc.decide.search.tree import Floats, Whole, nearest_point, tighten

MARGIN = 4e-16  # per channel: float error of a sum, whichever way it is added up


@dataclass(frozen=True, eq=False)
class Repaired:
    """Where the search may start from."""

    shares: (
        Floats  # (n, K): the current ones where they keep all bounds, or where nothing does
    )
    anchor: Floats  # (n, K): what the grid counts from; the current shares if they lead anywhere
    problem: NDArray[np.str_]  # (n,): what clashes; empty where the shares keep all bounds


@dataclass(frozen=True, eq=False)
class Moves:
    """How far rows may go."""

    largest: Floats  # (n,) moved share; infinite where nobody asked
    grid: float | None
    # largest_move in shares and in money, for the messages
    asked: tuple[float | None, float | None]


def repair_rows(bounds: Bounds, start: Floats, moves: Moves) -> Repaired:
    """The nearest allowed shares of every row, or why there are none; no budget: no change."""
    shares = start.copy()
    anchor = start.copy()
    problem = np.full(len(start), "", dtype=object)
    rows = np.flatnonzero(
        _breaks(bounds, np.arange(len(start)), start) & (bounds.budget > 0)
    )
    if not len(rows):
        return Repaired(shares, anchor, problem.astype(str))
    low, high, clash = bounds.take(rows)
    stuck = clash.any(axis=1)
    for row in rows[stuck].tolist():
        problem[row] = f"row {row}: {explain_clash(bounds, row)}"
    rows = rows[~stuck]
    low = low[~stuck]
    high = high[~stuck]
    near = nearest_point(bounds.rules.tree, start[rows], low, high, start[rows])
    near = _snap(bounds, rows, near, start[rows])
    needed = total_variation(near, start[rows])
    far = needed > moves.largest[rows] + SLACK
    for row, size in zip(rows[far].tolist(), needed[far].tolist(), strict=True):
        breach = explain_breach(bounds, row, bounds.rules.tree.sums(start[row]))
        verb = "need" if " + " in breach else "needs"
        problem[row] = (
            f"row {row}: {breach} {verb} a move of {size:.6g}, above "
            f"{_limit_text(bounds, row, moves)}"
        )
    rows = rows[~far]
    near = near[~far]
    shares[rows] = near
    anchor[rows] = near
    if moves.grid is not None:
        on_grid, fits = _to_grid(bounds, rows, start[rows], start[rows], moves)
        shares[rows[fits]] = on_grid[fits]
        anchor[rows[fits]] = start[rows[fits]]
    return Repaired(shares, anchor, problem.astype(str))


def settle_rows(
    bounds: Bounds,
    rows: Rows,
    wanted: Floats,
    start: Floats,
    repaired: Repaired,
    moves: Moves,
) -> Floats:
    """The allowed shares at or next to the wanted ones (a, K), without float error."""
    home = repaired.shares[rows]
    if moves.grid is not None:
        shares, fits = _to_grid(
            bounds, rows, wanted, repaired.anchor[rows], moves, start[rows]
        )
        shares = np.where(fits[:, None], shares, home)
    else:
        unmoved = np.abs(wanted - start[rows]) <= SLACK
        shares = _snap(bounds, rows, np.where(unmoved, start[rows], wanted), start[rows])
    return _shorten(bounds, rows, shares, home, start[rows], moves.largest[rows])


def _breaks(bounds: Bounds, rows: Rows, shares: Floats) -> Mask:
    """Rows whose shares break a bound, if only in the last bit; sums may have float error."""
    root = bounds.rules.tree.root
    sums = bounds.rules.tree.sums(shares)
    outside = (sums < bounds.low[rows]) | (sums > bounds.high[rows])
    return outside[:, :root].any(axis=1) | (np.abs(sums[:, root] - 1) > SLACK)


def _snap(bounds: Bounds, rows: Rows, shares: Floats, start: Floats) -> Floats:
    """The nearest shares within all bounds; the rest goes to channels that moved anyway."""
    tree = bounds.rules.tree
    shares = np.clip(
        shares, bounds.low[rows, : tree.channels], bounds.high[rows, : tree.channels]
    )
    moved = (np.abs(shares - start) > SLACK).astype(np.float64)
    sums = tree.sums(shares)
    low = bounds.low[rows]
    high = bounds.high[rows]
    # Groups that moved up to a bound stop a hair before it, so that they keep it whichever
    # way they are summed.
    margin = np.full(tree.root + 1, MARGIN * tree.channels)
    margin[: tree.channels] = 0
    margin[tree.root] = 0
    hair = margin * ((high - low > 2 * margin) & (tree.sums(moved) > 0))
    close = ((sums < low + hair / 2) & (hair > 0) & (low > 0)) | (
        (sums > high - hair / 2) & (hair > 0) & (high < 1)
    )
    astray = _breaks(bounds, rows, shares) | close.any(axis=1)
    if not astray.any():
        return shares
    low, high, _ = tighten(
        tree, low + hair * close * (low > 0), high - hair * close * (high < 1)
    )
    settled = nearest_point(tree, shares, low, high, moved)
    return np.where(astray[:, None], settled, shares)


def _shorten(
    bounds: Bounds, rows: Rows, shares: Floats, home: Floats, start: Floats, largest: Floats
) -> Floats:
    """Where a move is longer than the largest, shorten it towards the repaired shares."""
    if not np.isfinite(largest).any():
        return shares
    K = shares.shape[1]
    size = total_variation(shares, start)
    least = total_variation(home, start)
    aim = largest * (1 - 8 * MARGIN) - MARGIN * K
    # With no way left between the repaired shares and the limit, float error is not worth
    # giving up the whole move for.
    long = (size > largest) & ((aim - least > 1e-9) | (size > largest + SLACK))
    part = np.divide(
        aim - least, size - least, out=np.zeros_like(size), where=long & (size > least)
    )
    back = home + np.clip(part, 0, 1)[:, None] * (shares - home)
    back = np.clip(back, bounds.low[rows, :K], bounds.high[rows, :K])
    return np.where(long[:, None], back, shares)


def _to_grid(
    bounds: Bounds,
    rows: Rows,
    wanted: Floats,
    anchor: Floats,
    moves: Moves,
    start: Floats | None = None,
) -> tuple[Floats, Mask]:
    """The nearest allowed shares on the grid around the anchor, and where there are some."""
    tree = bounds.rules.tree
    grid = moves.grid or 1.0
    start = anchor if start is None else start
    places = tree.sums(anchor)
    low = np.ceil((bounds.low[rows] - places - SLACK) / grid)
    high = np.floor((bounds.high[rows] - places + SLACK) / grid)
    low[:, -1] = 0
    high[:, -1] = 0
    low, high, clash = tighten(tree, low, high)
    count = nearest_point(
        tree,
        np.rint((wanted - anchor) / grid),
        low,
        high,
        anchor,
        Whole(bounds.rules.by_name),
    )
    shares = np.where(count == 0, anchor, anchor + grid * count)
    shares = _snap(bounds, rows, shares, start)
    return shares, ~clash.any(axis=1) & (
        total_variation(shares, start) <= moves.largest[rows] + SLACK
    )


def _limit_text(bounds: Bounds, row: int, moves: Moves) -> str:
    share, money = moves.asked
    if share is not None and moves.largest[row] >= share:
        return f"largest_move {share:.6g}"
    part = f"{moves.largest[row]:.6g} of the budget {bounds.budget[row]:.10g}"
    return f"largest_move_money {money:.10g} ({part})"
