"""Constraints laid onto rows: bounds for every channel, group and the budget of each row, and what
clashes where.

Nodes are those of `tree.py`: K channels, the groups, the whole budget. A frozen channel, and one
that the unit never used and nobody opened, is bounded from both sides by its current share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Integers, Rows
from realloc.decide.constraints.constraints import ALL, SLACK, Constraints
from realloc.decide.search.tree import Floats, Tree, build_tree, tighten

Flags = NDArray[np.bool_]

ROUNDED = 1e-9  # shares that sum to 1 within it are shares


@dataclass(frozen=True, eq=False)
class Rules:
    """The bounds as they were asked for, per node: shares from 0 to 1, money from 0 to infinity."""

    tree: Tree
    names: tuple[str, ...]  # of channels and groups
    low_share: Floats  # (V,) each
    high_share: Floats
    low_money: Floats
    high_money: Floats
    frozen: Flags  # (K,)
    opened: Flags  # (K,): may be used by units that never used it

    @cached_property
    def binds(self) -> bool:
        """Whether anything but the whole budget bounds a row in money or shares."""
        asked = (
            self.frozen.any() or self.low_money.any() or np.isfinite(self.high_money).any()
        )
        return bool(asked or self.low_share[:-1].any() or (self.high_share[:-1] < 1).any())

    @cached_property
    def by_name(self) -> Integers:
        """Ranks of the channels (K,): ties go by the name, whatever the columns' order."""
        return np.argsort(np.argsort(self.names[: self.tree.channels]))


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of every row in shares, and why."""

    rules: Rules
    budget: Floats  # (n,)
    low: Floats  # (n, V), each node by itself
    high: Floats
    closed: Flags  # (n, K): never used by the unit and not opened

    def take(self, rows: Rows) -> tuple[Floats, Floats, Flags]:
        """What each node of the rows can reach (a, V), and where nothing is left."""
        # How far a node's bounds may cross before they conflict (V,): float error of shares.
        slack = np.append(np.full(len(self.rules.names), SLACK), ROUNDED)
        return tighten(self.rules.tree, self.low[rows], self.high[rows], slack)


def make_rules(constraints: Constraints, channels: tuple[str, ...]) -> Rules:
    """Floors and caps of channels and groups in the order of the tree's nodes."""
    groups = sorted(constraints.groups, key=lambda group: len(group.channels))
    place = {name: k for k, name in enumerate(channels)}
    tree = build_tree(
        len(channels), [tuple(place[name] for name in group.channels) for group in groups]
    )

    def column(
        asked: dict[str, float],
        of_groups: Sequence[float | None],
        empty: float,
        whole: float,
    ) -> Floats:
        values = [asked.get(name, empty) for name in channels]
        values += [empty if value is None else value for value in of_groups]
        return np.array([*values, whole], dtype=np.float64)

    K = len(channels)
    opened = np.full(K, ALL in constraints.open) | np.isin(channels, constraints.open)
    return Rules(
        tree=tree,
        names=(*channels, *(group.name for group in groups)),
        low_share=column(constraints.floors, [group.floor for group in groups], 0.0, 1.0),
        high_share=column(constraints.caps, [group.cap for group in groups], 1.0, 1.0),
        low_money=column(
            constraints.floors_money, [group.floor_money for group in groups], 0.0, 0.0
        ),
        high_money=column(
            constraints.caps_money, [group.cap_money for group in groups], np.inf, np.inf
        ),
        frozen=np.isin(channels, constraints.frozen),
        opened=opened,
    )


def make_bounds(rules: Rules, start: Floats, budget: Floats, used: Flags) -> Bounds:
    """Bounds of each row in shares; money counts only where the row has a budget."""
    K = start.shape[1]
    paid = budget[:, None]
    with np.errstate(all="ignore"):  # money of no budget, or of next to nothing
        low = np.where(
            paid > 0, np.maximum(rules.low_share, rules.low_money / paid), rules.low_share
        )
        high = np.where(
            paid > 0,
            np.minimum(rules.high_share, rules.high_money / paid),
            rules.high_share,
        )
    closed = ~(used | rules.opened | (start > 0))
    # A closed channel keeps its floor, if it has one: that is a conflict, and is explained as one.
    void = closed & (low[:, :K] <= SLACK)
    low[:, :K] = np.where(rules.frozen, start, np.where(void, 0.0, low[:, :K]))
    high[:, :K] = np.where(rules.frozen, start, np.where(closed, 0.0, high[:, :K]))
    return Bounds(rules, budget, low, high, closed)


def explain_clash(bounds: Bounds, row: int) -> str:
    """Name the bounds of the row that no shares can satisfy together; empty if there are none."""
    tree = bounds.rules.tree
    low, high, clash = bounds.take(np.array([row]))
    clashes: list[str] = []
    for node in np.flatnonzero(clash[0]).tolist():
        under = tree.under(node)
        if clash[0, under].any():
            continue  # that of the smaller set says it all
        floors = _terms(bounds, row, node, "floor", low[0])
        caps = _terms(bounds, row, node, "cap", high[0])
        exceed = "exceed" if len(floors) > 1 else "exceeds"
        stay_below = "stay below" if len(caps) > 1 else "stays below"
        if node != tree.root:
            clashes.append(f"{' + '.join(floors)} {exceed} {' + '.join(caps)}")
        elif low[0, under].sum() > 1:
            clashes.append(f"{' + '.join(floors)} {exceed} 1")
        else:
            clashes.append(f"{' + '.join(caps)} {stay_below} 1")
    return "; ".join(clashes)


def explain_breach(bounds: Bounds, row: int, sums: Floats) -> str:
    """Which bounds the row's node sums (V,) break."""
    terms: list[str] = []
    for node in range(bounds.rules.tree.root):
        if sums[node] < bounds.low[row, node] - SLACK:
            terms.append(_term(bounds, row, node, "floor"))
        if sums[node] > bounds.high[row, node] + SLACK:
            terms.append(_term(bounds, row, node, "cap"))
    return " + ".join(terms)


def _terms(bounds: Bounds, row: int, node: int, kind: str, reach: Floats) -> list[str]:
    """What holds the node up (its "floor") or down ("cap"): its own bound, or those under it."""
    tree = bounds.rules.tree
    under = tree.under(node)
    within = reach[under].sum()
    is_floor = kind == "floor"
    binds = (
        bounds.low[row, node] >= within if is_floor else bounds.high[row, node] <= within
    )
    if not under or (node != tree.root and binds):
        return [_term(bounds, row, node, kind)]
    holding = [child for child in under if reach[child] > 0] if is_floor else under
    return [term for child in holding for term in _terms(bounds, row, child, kind, reach)]


def _term(bounds: Bounds, row: int, node: int, kind: str) -> str:
    rules = bounds.rules
    name = rules.names[node]
    is_floor = kind == "floor"
    is_channel = node < rules.tree.channels
    share = float(bounds.low[row, node] if is_floor else bounds.high[row, node])
    asked = rules.low_share[node] if is_floor else rules.high_share[node]
    money = rules.low_money[node] if is_floor else rules.high_money[node]
    if is_channel and rules.frozen[node]:
        return f"frozen {name} {share:.6g}"
    if not is_floor and is_channel and bounds.closed[row, node]:
        return f"never used {name} (closed at 0 unless named in `open`)"
    if not is_floor and share == 1 and asked == 1:
        return "the whole budget"
    if share <= asked if is_floor else share >= asked:
        return f"{kind} of {name} {share:.6g}"
    part = f"{share:.6g} of the budget {bounds.budget[row]:.10g}"
    return f"{kind}_money of {name} {money:.10g} ({part})"
