"""Support coverage: how many rows hold a mix inside the region that holds 95 % (`level`) of fresh logged actions.

The region is conformal: it was calibrated on units that no fit had seen, so rows like those of training lie inside with
probability `level`, whatever the model. Coverage that falls below it by more than chance says that mixes, or the states in
which they are chosen, are not those of the training windows any more. (Decisions ask for more: a margin around the region.)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from realloc.logs import Logs

CLEAR = 4.0  # standard errors
MATERIAL = 0.03  # of all rows: a smaller loss is no news


@dataclass(frozen=True)
class Coverage:
    """Part of the rows inside, the part that was to be expected, and whether fewer are than chance explains."""

    now: float
    expected: float
    rows: int
    fell: bool


def measure_coverage(state: Any, logs: Logs) -> Coverage | None:
    """Of the rows of a log by what a model has learned; None where there are no rows."""
    if not len(logs):
        return None
    support, shares = state.support, np.array(logs.shares)
    opened = support.at(state.encoder.encode(logs).values)
    radius = opened.border.radius(np.arange(len(logs)), shares[:, None])[:, 0]
    return compare_coverage(
        float(np.mean(radius <= opened.limit)), support.config.level, len(logs), logs.unit_count
    )


def compare_coverage(now: float, expected: float, rows: int, units: int) -> Coverage:
    """Whether coverage fell by more than chance and by more than a little; rows of one unit may say the same again."""
    error = np.sqrt(expected * (1 - expected) / max(units, 1))
    return Coverage(now, expected, rows, bool(expected - now > max(CLEAR * error, MATERIAL)))
