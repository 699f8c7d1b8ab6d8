"""Drift: how far today's rows lie from the window that the model has learned from, by column.

A column has drifted where its distance beyond chance is larger than that of any period of the
training window, and the chance of it is below `ALPHA` over all columns together. `excess` is by how
much; `max_drift` limits it.
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
    """One column: PSI against training, how far periods of training are, and the excess."""

    name: str
    group: str  # state or shares
    psi: float
    usual: float | None  # None: the training window had a single period
    excess: float
    chance: float
    drifted: bool


def count_columns(training: Summary, logs: Logs) -> Counts:
    """Count the rows of a batch in the bins of the training window."""
    known = training["columns"]
    return {
        name: count(known[name], values).tolist()
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


def measure(training: Summary, counts: Counts, clusters: float = 1.0) -> tuple[Drift, ...]:
    """The drift of every column, the worst first; `clusters`: rows per unit."""
    drifts: list[Drift] = []
    known: dict[str, Any] = {
        name: column for name, column in training["columns"].items() if name in counts
    }
    per_unit = max(1.0, training[ROWS] / max(training["units"], 1))
    for name, column in known.items():
        old = np.array(column["parts"]) * training[ROWS] / per_unit
        new: NDArray[np.float64] = np.array(counts[name], dtype=np.float64) / clusters
        apart = divergence(new, old)
        usual = column["usual"]
        excess = max(0.0, apart.beyond - (usual or 0.0))
        drifts.append(
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
    return tuple(sorted(drifts, key=lambda drift: (-drift.excess, -drift.psi, drift.name)))


def worst(drifts: tuple[Drift, ...], group: str) -> Drift | None:
    """The worst of a group; None where nothing was compared."""
    return next((drift for drift in drifts if drift.group == group), None)
