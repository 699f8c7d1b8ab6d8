"""What all rows of a period share beyond their states: weather, holidays, a trend.

value = f(x) + τ_t + rest,   τ_t ~ N(0, τ²)

Where it moves both the mixes and the outcome it is a hidden cause, and the states of single rows do
not show it. It is estimated by shrunken means of what a ridge regression on the state leaves, and
taken off outcomes and usual mixes before anything is learned from them: what remains compares rows
of one period with each other.
"""

from dataclasses import replace

import numpy as np

from realloc.base.numerics.jitter import solve
from realloc.base.simplex import Floats, Rows
from realloc.learn.scaling import Floats32
from realloc.learn.window import Window

RIDGE = 1e-2  # per row


def without_periods(rows: Window) -> Window:
    """The same rows without what outcomes of one period share."""
    shared = period_effects(rows.x, rows.outcome[:, None], rows.periods, rows.weights)
    return replace(rows, outcome=rows.outcome - shared[:, 0])


def period_effects(x: Floats32, values: Floats, periods: Rows, weights: Floats) -> Floats:
    """τ_t of every row, for values (n, q) at states (n, d): (n, q)."""
    effects = np.zeros_like(values)
    count = np.bincount(periods, weights=weights)
    free = len(values) - np.count_nonzero(count)
    if free == 0:
        return effects  # every row has a time of its own
    state = x.astype(np.float64)
    design = np.column_stack([np.ones(len(state)), state, np.square(state)])
    weighted = design * weights[:, None]
    gram = weighted.T @ design
    gram[np.diag_indices(len(gram))] += RIDGE * weights.sum()
    left = values - design @ solve(gram, weighted.T @ values)
    for column in range(values.shape[1]):
        rest = left[:, column]
        mean = np.bincount(periods, weights=weights * rest) / np.maximum(count, 1e-12)
        noise = (
            np.average(np.square(rest - mean[periods]), weights=weights) * len(rest) / free
        )
        mean -= np.average(mean, weights=count)
        error = noise / np.maximum(count, 1e-12)
        lasting = np.average(np.square(mean) - error, weights=count)
        if lasting > 0:
            effects[:, column] = (mean * lasting / (lasting + error))[periods]
    return effects
