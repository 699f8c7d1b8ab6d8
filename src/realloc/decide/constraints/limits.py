"""Constraints of a batch of rows: what may be tried, where to start, how shares become money.

limits = compile_limits(constraints, channels, start, budget, used)
shares, problem = limits.repair()
trace = search_greedy(shares, gain, limits.allows, config)
shares = limits.settle(trace.shares)
shares = np.where(limits.useful(shares)[:, None], shares, start)
units = limits.round_money(shares)
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realloc.base import simplex
from realloc.base.errors import ConfigError
from realloc.base.simplex import Integers, total_variation
from realloc.decide.constraints.bounds import (
    ROUNDED,
    Bounds,
    Flags,
    Rules,
    explain_clash,
    make_bounds,
    make_rules,
)
from realloc.decide.constraints.constraints import SLACK, WHERE, Constraints
from realloc.decide.constraints.minor_units import round_within
from realloc.decide.constraints.repair import (
    Moves,
    Repaired,
    Rows,
    repair_rows,
    settle_rows,
)
from realloc.decide.search.tree import Floats

ON_GRID = 1e-9


@dataclass(frozen=True, eq=False)
class Limits:
    """Constraints of n rows. Moves count from the current shares, wherever a search starts."""

    bounds: Bounds
    start: Floats  # (n, K) current shares
    moves: Moves
    smallest: Floats  # (n,) moved share that is worth it
    repaired: Repaired
    money_digits: int

    @cached_property
    def kept(self) -> Flags:
        """Rows that stay as they are (n,): constraints in conflict, or no budget."""
        return (self.repaired.problem != "") | (self.bounds.budget == 0)

    @property
    def broken(self) -> Flags:
        """Rows whose current shares break a constraint and are repaired (n,)."""
        return total_variation(self.repaired.shares, self.start) > ROUNDED

    def repair(self) -> tuple[Floats, NDArray[np.str_]]:
        """The nearest allowed shares (n, K), and for rows without any which constraints clash."""
        return self.repaired.shares.copy(), self.repaired.problem.copy()

    def allows(self, rows: Rows, start: Floats, candidates: Floats) -> Flags:
        """Whether candidates (a, C, K) keep every constraint, up to float error."""
        tree = self.bounds.rules.tree
        allowed = np.repeat(~self.kept[rows][:, None], candidates.shape[1], axis=1)
        for node in self.bounded:
            low = self.bounds.low[rows, node]
            high = self.bounds.high[rows, node]
            held = tree.total(node, candidates)
            allowed &= (held >= low[:, None] - SLACK) & (held <= high[:, None] + SLACK)
        return (
            allowed & ~self._too_far(rows, candidates) & ~self._off_grid(rows, candidates)
        )

    def binding(self, rows: Rows, candidates: Floats) -> NDArray[np.str_]:
        """The first constraint that forbids each candidate (a, C); empty if it is allowed."""
        tree = self.bounds.rules.tree
        names = self.bounds.rules.names
        found = np.full(candidates.shape[:2], "", dtype=object)

        def note(name: str, where: Flags) -> None:
            found[where & (found == "")] = name

        note("conflict", (self.repaired.problem[rows] != "")[:, None])
        note("no budget", (self.bounds.budget[rows] == 0)[:, None])
        for node in self.bounded:
            low = self.bounds.low[rows, node][:, None]
            high = self.bounds.high[rows, node][:, None]
            held = tree.total(node, candidates)
            below = held < low - SLACK
            above = held > high + SLACK
            if node >= tree.channels:
                note(names[node], below | above)
            elif self.bounds.rules.frozen[node]:
                note(f"frozen {names[node]}", below | above)
            else:
                note(f"floor of {names[node]}", below)
                note(
                    f"never used {names[node]}",
                    above & self.bounds.closed[rows, node][:, None],
                )
                note(f"cap of {names[node]}", above)
        note("largest move", self._too_far(rows, candidates))
        note("grid", self._off_grid(rows, candidates))
        return found.astype(str)

    def useful(self, shares: Floats) -> Flags:
        """Whether a row moves enough to be worth it, or has to move (n,)."""
        return (total_variation(shares, self.start) >= self.smallest - SLACK) | self.broken

    def settle(self, shares: Floats) -> Floats:
        """The final shares (n, K), which keep every constraint exactly; kept rows do not change.

        Shares that break a constraint are brought to the nearest that do not.
        """
        settled = np.where(self.kept[:, None], self.start, self.repaired.shares)
        rows = np.flatnonzero(~self.kept & (shares != settled).any(axis=1))
        if not len(rows):
            return settled
        settled[rows] = settle_rows(
            self.bounds, rows, shares[rows], self.start, self.repaired, self.moves
        )
        return settled

    def round_money(self, shares: Floats) -> Integers:
        """Minor units (n, K) that sum to the rounded budget and keep floors and caps, if units can.

        Rows that are kept because of a conflict are rounded by their largest remainders.
        """
        rules = self.bounds.rules
        tree = rules.tree
        digits = self.money_digits
        units = simplex.round_money(shares, self.bounds.budget, digits, rules.by_name)
        if not rules.binds and not np.isfinite(self.moves.largest).any():
            return units
        sums = tree.sums(np.asarray(shares, dtype=np.float64))
        holds = (
            (sums >= self.bounds.low - ROUNDED) & (sums <= self.bounds.high + ROUNDED)
        ).all(axis=1)
        rows = np.flatnonzero(holds & (units.sum(axis=1) > 0))
        part = _rows_of(self.bounds, rows)
        largest = self.moves.largest[rows]
        units[rows] = round_within(
            part, units[rows], shares[rows], self.start[rows], largest, digits
        )
        return units

    @cached_property
    def bounded(self) -> list[int]:
        """Nodes with a bound anywhere, but for the whole budget."""
        bounded = (self.bounds.low.max(axis=0, initial=0) > 0) | (
            self.bounds.high.min(axis=0, initial=1) < 1
        )
        return np.flatnonzero(bounded[:-1]).tolist()

    def _too_far(self, rows: Rows, candidates: Floats) -> Flags:
        largest: Floats = self.moves.largest[rows]
        if not np.isfinite(largest).any():
            return np.zeros(candidates.shape[:2], dtype=bool)
        return (
            total_variation(candidates, self.start[rows][:, None])
            > largest[:, None] + SLACK
        )

    def _off_grid(self, rows: Rows, candidates: Floats) -> Flags:
        grid = self.moves.grid
        if grid is None:
            return np.zeros(candidates.shape[:2], dtype=bool)
        away = candidates - self.repaired.anchor[rows][:, None]
        return np.abs(away - grid * np.rint(away / grid)).max(axis=-1) > ON_GRID


def compile_limits(
    constraints: Constraints,
    channels: tuple[str, ...],
    start: Floats,
    budget: ArrayLike,
    used: Flags,
    money_digits: int = 2,
) -> Limits:
    """Apply constraints to rows: shares (n, K), budgets (n,), channels ever used (n, K).

    >>> floor, start = Constraints(floors={"ads": 0.5}), np.array([[0.25, 0.75]])
    >>> compile_limits(floor, ("ads", "tv"), start, [100], start > 0).repair()[0].tolist()
    [[0.5, 0.5]]
    """
    channels = tuple(channels)
    start = np.array(start, dtype=np.float64)
    spent = np.array(budget, dtype=np.float64)
    bounds = make_bounds(_rules_for(constraints, channels), start, spent, used)
    largest = np.minimum(
        np.inf if constraints.largest_move is None else constraints.largest_move,
        _of_budget(constraints.largest_move_money, spent, np.inf),
    )
    smallest = np.maximum(
        constraints.smallest_move or 0.0,
        _of_budget(constraints.smallest_move_money, spent, 0.0),
    )
    moves = Moves(
        largest,
        constraints.grid,
        (constraints.largest_move, constraints.largest_move_money),
    )
    return Limits(
        bounds, start, moves, smallest, repair_rows(bounds, start, moves), money_digits
    )


def _rows_of(bounds: Bounds, rows: Rows) -> Bounds:
    return replace(
        bounds,
        budget=bounds.budget[rows],
        low=bounds.low[rows],
        high=bounds.high[rows],
        closed=bounds.closed[rows],
    )


def _of_budget(money: float | None, budget: Floats, none: float) -> Floats:
    """Money as a share of each budget; `none` where nobody asked or there is no budget."""
    if money is None:
        return np.full(len(budget), none)
    with np.errstate(over="ignore"):
        return np.divide(money, budget, out=np.full(len(budget), none), where=budget > 0)


def _rules_for(constraints: Constraints, channels: tuple[str, ...]) -> Rules:
    """The rules of these channels, checked when they are first asked for."""
    if channels not in constraints.compiled:
        constraints.check_channels(channels)
        _check_possible(constraints, channels)
        constraints.compiled[channels] = make_rules(constraints, channels)
    return constraints.compiled[channels]


def _check_possible(constraints: Constraints, channels: tuple[str, ...]) -> None:
    """Refuse bounds in shares that no row whatsoever can satisfy."""
    loose = replace(constraints, frozen=(), floors_money={}, caps_money={}, open=("*",))
    even = np.full((1, len(channels)), 1 / len(channels))
    rules = make_rules(loose, channels)
    clash = explain_clash(make_bounds(rules, even, np.zeros(1), even > 0), 0)
    if clash:
        raise ConfigError(
            f"Expected {WHERE} that some shares can keep, but {clash}. Loosen one of them."
        )
