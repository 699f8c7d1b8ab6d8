"""Several goals in one test: p-values adjusted for the best of them being picked."""

import numpy as np
from scipy import stats

from realloc.base.simplex import Floats


def adjust(p: Floats, correction: str) -> Floats:
    """Holm's (a wrong winner among all goals at most α)
    or Benjamini and Hochberg's (a wrong one among the winners).

    >>> adjust(np.array([0.01, 0.04]), "holm").tolist()
    [0.02, 0.04]
    """
    if correction == "none" or len(p) == 0:
        return p
    if correction == "benjamini_hochberg":
        return stats.false_discovery_control(p, method="bh")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
