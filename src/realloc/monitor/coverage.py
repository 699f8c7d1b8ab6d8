"""Support coverage: the part of rows with a mix in the region of 95 % (`level`) of logged mixes.

The region is conformal: it was calibrated on units that no fit had seen, so rows like those of
training lie inside with probability `level`, whatever the model. SupportCoverage that falls below
it by more than chance says that mixes, or the states in which they are chosen, are not those of the
training windows any more. (Decisions ask for more: a safety margin around the region.)
"""

from dataclasses import dataclass

import numpy as np

from realloc.logs import Logs
from realloc.model.state import RoundState

CLEAR = 4.0  # standard errors
MATERIAL = 0.03  # of all rows: a smaller loss is no news


@dataclass(frozen=True)
class SupportCoverage:
    """Part of the rows inside, the expected part, and whether fewer are than chance explains."""

    now: float
    expected: float
    rows: int
    fell: bool


def measure_coverage(state: RoundState, logs: Logs) -> SupportCoverage | None:
    """Of the rows of a log by what a model has learned; None where there are no rows."""
    if not len(logs):
        return None
    support = state.support
    shares = np.array(logs.shares)
    opened = support.at(state.encoder.encode(logs).values)
    radius = opened.border.radius(np.arange(len(logs)), shares[:, None])[:, 0]
    return compare_coverage(
        float(np.mean(radius <= opened.limit)),
        support.config.level,
        len(logs),
        logs.unit_count,
    )


def compare_coverage(now: float, expected: float, rows: int, units: int) -> SupportCoverage:
    """Compare coverage with the expected; rows of one unit may say the same again."""
    error = np.sqrt(expected * (1 - expected) / max(units, 1))
    return SupportCoverage(
        now, expected, rows, bool(expected - now > max(CLEAR * error, MATERIAL))
    )
