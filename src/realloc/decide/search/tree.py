"""Channels inside groups inside the budget: a tree of sums with bounds, and the nearest point that
keeps all of them.

Groups are apart or one inside the other, so the sets form a tree whose root is the whole budget.
For bounds on every node's sum the point nearest in total variation has a closed form: going up,
every node's value is clipped to what its children can reach; going down, what a node has to gain or
lose is spread over its children, all in one direction. Bounds in whole units have a nearest point
in whole units, by the same two passes. Nodes: K channels, groups from the small to the large, the
root last; V of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats, Integers, Mask

DIGITS = 6  # of a remainder: float noise below it breaks no tie


@dataclass(frozen=True)
class Tree:
    """What lies directly under each inner node, and which channels lie under it at all."""

    channels: int
    # per inner node, the smallest group first, the root last
    children: tuple[tuple[int, ...], ...]
    members: tuple[tuple[int, ...], ...]

    @property
    def root(self) -> int:
        """The node of the whole budget."""
        return self.channels + len(self.children) - 1

    def under(self, node: int) -> list[int]:
        """The nodes directly under one; none under a channel."""
        return list(self.children[node - self.channels]) if node >= self.channels else []

    def inside(self, node: int) -> list[int]:
        """The channels of a node."""
        return [node] if node < self.channels else list(self.members[node - self.channels])

    def total(self, node: int, shares: Floats) -> Floats:
        """What a node holds of shares (..., K)."""
        if node < self.channels:
            return shares[..., node]
        return shares[..., self.inside(node)].sum(axis=-1)

    def sums(self, shares: Floats) -> Floats:
        """Of the last axis: (..., K) → (..., V)."""
        inner = [
            shares[..., list(members)].sum(axis=-1, keepdims=True)
            for members in self.members
        ]
        return np.concatenate([shares, *inner], axis=-1)


def build_tree(channels: int, groups: Sequence[tuple[int, ...]]) -> Tree:
    """The tree of groups that are apart or nested, given from the small to the large.

    >>> build_tree(3, [(0, 2)]).children
    ((0, 2), (1, 3))
    """
    tops: dict[int, set[int]] = {k: {k} for k in range(channels)}
    children: list[tuple[int, ...]] = []
    members = [tuple(sorted(group)) for group in groups] + [tuple(range(channels))]
    for place, inside in enumerate(members):
        under = tuple(node for node, reach in tops.items() if reach <= set(inside))
        for node in under:
            del tops[node]
        tops[channels + place] = set(inside)
        children.append(under)
    return Tree(channels, tuple(children), tuple(members))


def tighten(
    tree: Tree, low: Floats, high: Floats, slack: float | Floats = 0.0
) -> tuple[Floats, Floats, Mask]:
    """What each node can reach, (n, V) each, and where nothing is left (by more than `slack`)."""
    low = low.copy()
    high = high.copy()
    slack = np.broadcast_to(slack, low.shape[1:])
    clash = low > high + slack
    for node, under in enumerate(tree.children, start=tree.channels):
        least = low[:, list(under)].sum(axis=1)
        most = high[:, list(under)].sum(axis=1)
        low[:, node] = np.maximum(low[:, node], least)
        high[:, node] = np.minimum(high[:, node], most)
        clash[:, node] = low[:, node] > high[:, node] + slack[node]
    return low, np.maximum(low, high), clash


@dataclass(frozen=True, eq=False)
class Whole:
    """Round to whole units: the order of equal remainders, and what to stay near."""

    rank: Integers  # (K,)
    home: Floats | None = (
        None  # (n, K): round towards it, instead of by the largest remainder
    )


def nearest_point(
    tree: Tree,
    wanted: Floats,
    low: Floats,
    high: Floats,
    weights: Floats,
    whole: Whole | None = None,
) -> Floats:
    """The point (n, K) within tightened bounds (n, V) nearest to `wanted` in total variation.

    Among equally near points, channels gain and lose in proportion to `weights` (n, K).

    >>> tree = build_tree(3, [])
    >>> low, high, _ = tighten(tree, np.array([[0.5, 0, 0, 1]]), np.ones((1, 4)))
    >>> wanted, weights = np.array([[0.2, 0.4, 0.4]]), np.ones((1, 3))
    >>> nearest_point(tree, wanted, low, high, weights).round(3).tolist()
    [[0.5, 0.25, 0.25]]
    """
    K = tree.channels
    if not len(wanted):
        return np.empty((0, K))
    value = np.empty_like(low)
    value[:, :K] = np.clip(wanted, low[:, :K], high[:, :K])
    for node, under in enumerate(tree.children, start=K):
        value[:, node] = np.clip(
            value[:, list(under)].sum(axis=1), low[:, node], high[:, node]
        )
    weights = tree.sums(weights)
    home = None if whole is None or whole.home is None else tree.sums(whole.home)
    for node in range(tree.root, K - 1, -1):
        under = tree.under(node)
        rest = value[:, node] - value[:, under].sum(axis=1)
        spread = _spread(
            value[:, under], rest, low[:, under], high[:, under], weights[:, under]
        )
        if whole is not None:
            rank = np.array([whole.rank[tree.inside(child)].min() for child in under])
            near = None if home is None else home[:, under]
            spread = _round(
                spread, value[:, node], low[:, under], high[:, under], (rank, near)
            )
        value[:, under] = spread
    return value[:, :K]


def _spread(
    value: Floats, rest: Floats, low: Floats, high: Floats, weights: Floats
) -> Floats:
    """Give (or take, where `rest` is negative) in proportion to the weights, never past a bound."""
    room = np.maximum(np.where(rest[:, None] > 0, high - value, value - low), 0)
    need = np.abs(rest)
    taken = np.zeros_like(value)
    for _ in range(2 * value.shape[1] + 1):
        left = room - taken
        still = need - taken.sum(axis=1)
        if not np.any(still > 1e-16 * need):
            break
        pull = np.where(left > 0, weights, 0.0)
        # nobody with a weight has room left
        pull = np.where(pull.sum(axis=1, keepdims=True) > 0, pull, left)
        total = pull.sum(axis=1, keepdims=True)
        part = np.divide(pull, total, out=np.zeros_like(pull), where=total > 0)
        taken += np.minimum(left, part * np.maximum(still, 0)[:, None])
    return np.clip(value + np.sign(rest)[:, None] * taken, low, high)


def _round(
    value: Floats,
    total: Floats,
    low: Floats,
    high: Floats,
    order: tuple[Integers, Floats | None],
) -> Floats:
    """Whole units within bounds that sum to `total` (n,): floor, then one unit each in order."""
    rank, home = order
    units = np.clip(np.floor(value + 10.0**-DIGITS), low, high)
    remainder = np.round(value - units, DIGITS)
    if home is not None:
        remainder += 2.0 * ((remainder > 0) & (value < home))
    ranks = np.broadcast_to(rank, value.shape)
    for _ in range(64):  # once; float error at 10¹⁴ units may take a few more
        left = total - units.sum(axis=1)
        if not left.any():
            break
        up = left[:, None] > 0
        free = np.where(up, units < high, units > low)
        queue = np.lexsort(
            (np.where(up, ranks, -ranks), np.where(up, -remainder, remainder), ~free),
            axis=1,
        )
        served = (np.argsort(queue, axis=1) < np.abs(left)[:, None]) & free
        units += np.where(up, 1.0, -1.0) * served
    return units
