"""How far two samples lie apart: PSI, and what of it chance alone explains.

PSI = Σ_b (q_b − p_b) log(q_b / p_b)

Two samples of n and m rows from one population have PSI ≈ (1/n + 1/m) χ² with B − 1 degrees of
freedom, B the bins that occur. So a PSI means nothing without n and m: 0.1 is far for a million
rows and nothing for fifty. `beyond` is what is left after the part that chance explains, and
`chance` the probability of so large a PSI without any drift.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HALF = 0.5  # rows added to every bin that occurs, so that an empty one has a logarithm


@dataclass(frozen=True)
class Divergence:
    """PSI, what of it lies beyond the 99th percentile of chance, and its chance without drift."""

    psi: float
    beyond: float
    chance: float


def divergence(new: NDArray[np.number], old: NDArray[np.number]) -> Divergence:
    """Of the counts of two samples in the same bins.

    >>> divergence(np.array([50, 50]), np.array([500, 500])).psi
    0.0
    """
    from scipy import special

    used = (new + old) > 0
    n = float(new.sum())
    m = float(old.sum())
    bins = int(used.sum())
    if n == 0 or m == 0 or bins < 2:
        return Divergence(0.0, 0.0, 1.0)
    q = (new[used] + HALF) / (n + HALF * bins)
    p = (old[used] + HALF) / (m + HALF * bins)
    psi = float(((q - p) * np.log(q / p)).sum())
    scale = 1 / n + 1 / m
    by_chance = scale * float(special.chdtri(bins - 1, 0.01))
    return Divergence(
        psi,
        beyond=max(0.0, psi - by_chance),
        chance=float(special.chdtrc(bins - 1, psi / scale)),
    )
