"""Drift: how far today's rows lie from the window that the model has learned from, column by column.

A column has drifted where its distance beyond chance is larger than that of any period of the training window was, and
the chance of it is below `ALPHA` over all columns together. `excess` is by how much; it is what `max_drift` limits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.logs import Logs
from realloc.logs.divergence import divergence
from realloc.logs.summary import ROWS, Summary, columns_of, count

ALPHA = 1e-3  # that anything is called drift where there is none

Counts = dict[str, list[int]]  # rows per bin of each column; those of several batches add up


@dataclass(frozen=True)
class Drift:
    """One column: PSI against training, how far periods of training usually are, and what lies beyond both."""

    name: str
    group: str  # state or shares
    psi: float
    usual: float | None  # None: the training window had a single period
    excess: float
    chance: float
    drifted: bool


def count_columns(told: Summary, logs: Logs) -> Counts:
    """Rows of a batch in the bins of the training window."""
    known = told["columns"]
    return {
        name: count(known[name], values).tolist()
        for name, _, values in columns_of(logs)
        if name in known
    }


def add_counts(one: Counts, other: Counts) -> Counts:
    """Counts of two batches together."""
    added = dict(one)
    for name, counts in other.items():
        added[name] = (
            [a + b for a, b in zip(one[name], counts, strict=True)] if name in one else counts
        )
    return added


def measure(told: Summary, counts: Counts, clusters: float = 1.0) -> tuple[Drift, ...]:
    """The drift of every column, the worst first. `clusters`: rows per unit, where one unit's rows say the same again."""
    found: list[Drift] = []
    known: dict[str, Any] = {
        name: column for name, column in told["columns"].items() if name in counts
    }
    per_unit = max(1.0, told[ROWS] / max(told["units"], 1))
    for name, column in known.items():
        old = np.array(column["parts"]) * told[ROWS] / per_unit
        new: NDArray[np.float64] = np.array(counts[name], dtype=np.float64) / clusters
        apart, usual = divergence(new, old), column["usual"]
        excess = max(0.0, apart.beyond - (usual or 0.0))
        found.append(
            Drift(
                name=name,
                group=column["group"],
                psi=apart.psi,
                usual=usual,
                excess=excess,
                chance=apart.chance,
                drifted=excess > 0 and apart.chance < ALPHA / len(known),
            )
        )
    return tuple(sorted(found, key=lambda drift: (-drift.excess, -drift.psi, drift.name)))


def worst(drifts: tuple[Drift, ...], group: str) -> Drift | None:
    """Of a group; None where nothing was compared."""
    return next((drift for drift in drifts if drift.group == group), None)
