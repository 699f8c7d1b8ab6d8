"""Coordinates in which logged shares are compared.

Log-ratios where all are positive, square roots where zeros occur.

Log-ratios with a pseudo-count would measure the pseudo-count; square roots (the Hellinger sphere)
are exact at zero.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, active_pattern, tangent_basis

SMALLEST = float(np.finfo(np.float64).tiny)


def choose(shares: Floats, wanted: str) -> str:
    """`auto` becomes log_ratio where every logged share is above 0, else sphere."""
    if wanted == "auto":
        return "log_ratio" if bool((shares > 0).all()) else "sphere"
    return wanted


def locate(kind: str, shares: Floats) -> Floats:
    """Coordinates of shares (..., K): (..., K−1) log-ratios, or (..., K) square roots.

    A zero share is far in log-ratios.
    """
    bent = bend(kind, shares)
    return bent @ tangent_basis(shares.shape[-1]) if kind == "log_ratio" else bent


def bend(kind: str, shares: Floats) -> Floats:
    """What is not linear in the coordinates: logarithms or square roots, share by share."""
    return (
        np.log(np.maximum(shares, SMALLEST))
        if kind == "log_ratio"
        else np.sqrt(np.maximum(shares, 0.0))
    )


def pattern_codes(shares: Floats) -> NDArray[np.uint64]:
    """A number for the set of active channels of each row (..., K): equal for equal sets."""
    return (active_pattern(shares) * channel_codes(shares.shape[-1])).sum(
        axis=-1, dtype=np.uint64
    )


@lru_cache(maxsize=64)
def channel_codes(channels: int) -> NDArray[np.uint64]:
    """What each active channel adds to the number of a pattern."""
    return np.array(
        [pow(6364136223846793005, k + 1, 2**64) for k in range(channels)], dtype=np.uint64
    )
