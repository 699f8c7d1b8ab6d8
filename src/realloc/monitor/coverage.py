"""Support coverage: how many rows hold a mix that the logs support, now and among the actions that were learned from.

Scores are conformal ranks: a fresh logged action scores below 1 − level with probability of at most 1 − level. So coverage
that falls says that mixes, or the states they were chosen in, are not those of the training window any more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from realloc.logs import Logs

SAMPLE = 5000  # remembered actions that are judged again
CLEAR = 3.0  # standard errors
MATERIAL = 0.05  # of all rows: a smaller loss is no news


@dataclass(frozen=True)
class Coverage:
    """Part of the rows whose own mix is supported, now and in training, and whether fewer are than chance explains."""

    now: float
    training: float
    rows: int
    fell: bool


def measure_coverage(state: Any, logs: Logs) -> Coverage | None:
    """Of the rows of a log by what a model has learned; None where there are no rows."""
    if not len(logs):
        return None
    level, logged = state.support.config.level, state.support.logged
    some = np.unique(np.linspace(0, len(logged) - 1, min(SAMPLE, len(logged))).astype(np.int64))
    now = _covered(state, state.encoder.encode(logs).values, np.array(logs.shares), level)
    training = _covered(state, logged.x[some], logged.shares[some], level)
    return compare_coverage(float(now.mean()), len(now), float(training.mean()), len(training))


def compare_coverage(now: float, rows: int, training: float, judged: int) -> Coverage:
    """Whether coverage fell by more than chance and by more than a little."""
    error = np.sqrt(now * (1 - now) / rows + training * (1 - training) / judged)
    return Coverage(now, training, rows, bool(training - now > max(CLEAR * error, MATERIAL)))


def _covered(state: Any, x: Any, shares: Any, level: float) -> Any:
    opened = state.support.at(x)
    return opened.score(np.arange(len(x)), shares, shares) >= 1 - level
