"""The standard deviation of a gain, from the covariance of the field it is made of."""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats, Rows, channels_first

FEW = 5  # channels up to which sums channel by channel are faster than a matrix product per row


@dataclass(frozen=True, eq=False)
class GainStd:
    """σ̂ of the gains of moves of n rows, from covariances (n, K, K)."""

    covariance: Floats

    def __call__(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """σ̂ of starts (a, K) → ends (a, m, K) of some of the rows: (a, m)."""
        return gain_std(self.covariance[rows], start, ends)


def gain_std(covariance: Floats, start: Floats, ends: Floats) -> Floats:
    """√(dᵀ V d) of d = end − start: starts (a, K), ends (a, m, K), covariances V (a, K, K)."""
    move = channels_first(ends) - start.T[..., None]  # (K, a, m)
    if len(move) > FEW:
        along = np.moveaxis(move, 0, -1)
        variance = ((along @ covariance) * along).sum(axis=-1)
    else:
        variance = np.zeros(move.shape[1:])
        for k in range(len(move)):
            for l in range(k + 1):
                term = move[k] * (covariance[:, k, l, None] * (1 + (l < k)))
                variance += np.multiply(term, move[l], out=term)
    return np.sqrt(np.maximum(variance, 0.0, out=variance), out=variance)
