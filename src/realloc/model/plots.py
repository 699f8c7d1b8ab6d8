"""Figures of a model: `model.plot.gains()`, `flows(today)`, `reasons(today)`, `unit(…)`.

Each is an SVG drawing that a notebook shows, and that `save` writes to a file.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from realloc.base.errors import LogError
from realloc.base.simplex import Floats
from realloc.decide.conservative import weigh_slopes
from realloc.decide.totals import money_flows
from realloc.decide.types import MOVED, REASONS
from realloc.draw import (
    Figure,
    PairGain,
    TernaryField,
    TernaryPlot,
    counts,
    gain_matrix,
    lattice,
    money_flow,
    ternary,
)
from realloc.logs import Logs
from realloc.model.request import read_today

if TYPE_CHECKING:
    from realloc.model.realloc import ReAlloc

FINE = 30  # lines across the triangle, for the supported region
COARSE = 9  # for arrows


@dataclass(frozen=True, eq=False)
class ModelPlots:
    """Figures about rows of today; without any, about the last rows that were learned from."""

    model: ReAlloc

    def gains(self, today: Any = None) -> Figure:
        """What moving one point of the budget is worth, by pair of channels."""
        logs = self._rows(today)
        pairs = {
            (row["from"], row["to"]): PairGain(row["value"], row["low"], row["high"])
            for row in self.model.effects(logs).to_pylist()
            if row["n"]
        }
        unit = f"{logs.schema.outcome} per row"
        return gain_matrix(logs.schema.channels, pairs, unit=unit)

    def flows(self, today: Any = None) -> Figure:
        """Money by channel now and recommended, and what flows between."""
        logs = self._rows(today)
        decision = self.model.decide(logs)
        change = (decision.shares - logs.shares) * logs.budget[:, None]
        change[~np.isin(decision.reason, MOVED)] = 0.0
        now = (logs.shares * logs.budget[:, None]).sum(axis=0)
        return money_flow(logs.schema.channels, now.tolist(), money_flows(change))

    def reasons(self, today: Any = None) -> Figure:
        """How many rows are moved or kept, and why."""
        reasons = Counter(self.model.decide(self._rows(today)).reason.tolist())
        named = {REASONS[reason]: rows for reason, rows in reasons.most_common()}
        moved = [REASONS[reason] for reason in MOVED]
        return counts(named, "Rows by reason", highlighted=moved)

    def unit(self, today: Any, unit: Any) -> Figure:
        """One unit: three channels as a triangle with the support, others as bars."""
        logs = self._rows(today)
        explanation = self.model.explain(logs, unit)
        if len(logs.schema.channels) != 3:
            return explanation.plot()
        names = logs.units.cast("string").to_pylist()
        place = np.flatnonzero(logs.unit_codes == names.index(str(unit)))[-1:]
        end = np.array([explanation.rows[-1]["recommended"]])
        return triangle(self.model, logs.take(place), end)

    def _rows(self, today: Any) -> Logs:
        if today is not None:
            return read_today(today, self.model.known_schema)[0]
        window = self.model.last_window
        if window is None:
            raise LogError(
                "Expected rows to draw: a loaded model no longer has those that it learned from. "
                "Hand in rows of today."
            )
        return window.today


def triangle(model: ReAlloc, row: Logs, end: Floats) -> Figure:
    """One row of three channels: supported mixes, logged ones, which way pays, and the move."""
    state = model.fitted
    x = state.encode(row)
    start = np.array(row.shares)
    support = state.support_at(x)
    here = np.zeros(1, dtype=np.intp)
    inside = support.inside(here, lattice(FINE)[None])[0]
    places = lattice(COARSE)
    places = places[support.inside(here, places[None])[0]]
    every = np.zeros(len(places), dtype=np.intp)
    ways = np.empty((0, 3))
    if len(places):
        terms = state.terms(x, start, model.config.decision)
        ways = weigh_slopes(terms, every, places)
        ways = ways - ways.mean(axis=1, keepdims=True)
    moves = np.abs(end - start).max() > 0
    plot = TernaryPlot(
        inside=inside,
        lattice=FINE,
        logged=state.support.logged.shares,
        field=TernaryField(places, ways),
        trace=np.concatenate([start, end]) if moves else start,
    )
    return ternary(row.schema.channels, plot)
