"""The standard deviation of a gain from the covariance of its field; without torch, as decisions are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, channels_first

FEW = 5  # channels for which sums channel by channel are faster than a product a row


@dataclass(frozen=True, eq=False)
class Deviations:
    """σ̂ of ways of n rows, from covariances (n, K, K)."""

    covariance: Floats

    def __call__(self, rows: NDArray[np.integer[Any]], start: Floats, ends: Floats) -> Floats:
        """Of starts (a, K) → ends (a, m, K) of some of the rows: (a, m)."""
        return deviation(self.covariance[rows], start, ends)


def deviation(covariance: Floats, start: Floats, ends: Floats) -> Floats:
    """sd of the gains of starts (a, K) → ends (a, m, K), from covariances (a, K, K): (a, m)."""
    off = channels_first(ends) - start.T[..., None]  # (K, a, m)
    if len(off) > FEW:
        along = np.moveaxis(off, 0, -1)
        found = ((along @ covariance) * along).sum(axis=-1)
    else:
        found = np.zeros(off.shape[1:])
        for k in range(len(off)):
            for l in range(k + 1):
                part = off[k] * (covariance[:, k, l, None] * (1 + (l < k)))
                found += np.multiply(part, off[l], out=part)
    return np.sqrt(np.maximum(found, 0.0, out=found), out=found)
