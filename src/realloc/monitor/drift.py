"""Drift: how far today's rows lie from the window that the model has learned from, by column.

A column has drifted where its distance beyond chance is larger than that of any period of the
training window, and the chance of it is below `ALPHA` over all columns together. `excess` is by how
much; `max_drift` limits it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from realloc.logs import Logs
from realloc.logs.divergence import divergence
from realloc.logs.summary import WindowSummary, columns_of
from realloc.monitor.change import describe_change

ALPHA = 1e-3  # that anything is called drift where there is none

# rows per bin of each column; those of several batches add up
Counts = dict[str, list[int]]


@dataclass(frozen=True)
class Drift:
    """One column: PSI against training, how far periods of training are, and the excess."""

    name: str
    group: str  # state or shares
    psi: float
    usual: float | None  # None: the training window had a single period
    excess: float
    chance: float
    drifted: bool
    change: str = ""  # where most rows went, in words

    @property
    def sentence(self) -> str:
        """Whether the column has changed, and how, without the full stop."""
        if self.drifted:
            return f"{self.name!r} has changed: {self.change}"
        if self.excess > 0:
            return f"{self.name!r} changed most, but so few rows may do so by chance"
        return "no column has changed by more than usual"


def count_columns(training: Mapping[str, Any], logs: Logs) -> Counts:
    """Count the rows of a batch in the bins of the training window, from a version's record."""
    known = WindowSummary.from_json(training).columns
    return {
        name: known[name].count(values).tolist()
        for name, _, values in columns_of(logs)
        if name in known
    }


def add_counts(one: Counts, other: Counts) -> Counts:
    """Counts of two batches together."""
    added = dict(one)
    for name, counts in other.items():
        before = one.get(name, [0] * len(counts))
        added[name] = [a + b for a, b in zip(before, counts, strict=True)]
    return added


def measure(
    training: Mapping[str, Any], counts: Counts, clusters: float = 1.0
) -> tuple[Drift, ...]:
    """The drift of every column, the worst first; `clusters`: rows per unit."""
    window = WindowSummary.from_json(training)
    per_unit = max(1.0, window.rows / max(window.units, 1))
    known = {name: column for name, column in window.columns.items() if name in counts}
    drifts: list[Drift] = []
    for name, column in known.items():
        old = np.array(column.parts) * window.rows / per_unit
        new = np.array(counts[name], dtype=np.float64) / clusters
        apart = divergence(new, old)
        excess = max(0.0, apart.beyond - (column.usual or 0.0))
        drift = Drift(
            name=name,
            group=column.group,
            psi=apart.psi,
            usual=column.usual,
            excess=excess,
            chance=apart.chance,
            change=describe_change(name, column, counts[name]),
            drifted=excess > 0 and apart.chance < ALPHA / len(known),
        )
        drifts.append(drift)
    return tuple(sorted(drifts, key=lambda drift: (-drift.excess, -drift.psi, drift.name)))


def worst(drifts: tuple[Drift, ...], group: str) -> Drift | None:
    """The worst of a group; None where nothing was compared."""
    return next((drift for drift in drifts if drift.group == group), None)
