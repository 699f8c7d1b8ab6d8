"""Coordinates in which logged shares are compared.

Log-ratios where all are positive. Where zeros occur, log-ratios of the active channels (`partial`):
a channel that rests says nothing, and is filled in with what is usual for the state. Square roots
(the Hellinger sphere) where shares come so near to zero that their logarithms have no usual size.

Log-ratios with a pseudo-count would measure the pseudo-count.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, active_pattern, tangent_basis

SMALLEST = float(np.finfo(np.float64).tiny)
LEAST_LOG = float(np.log(SMALLEST)) + 1  # of an active channel
MOST_SINGLE = 0.01  # of the rows may use one channel alone, for log-ratios of active ones


def choose(shares: Floats, wanted: str) -> str:
    """`auto` becomes log_ratio where every logged share is above 0; partial where mixes are."""
    if wanted != "auto":
        return wanted
    if bool((shares > 0).all()):
        return "log_ratio"
    single = float(((shares > 0).sum(axis=-1) < 2).mean())
    return "partial" if single < MOST_SINGLE else "sphere"


def fill_in(bent: Floats, centre: Floats, channels: int = -1) -> Floats:
    """Logarithms of shares whose resting channels follow the state's centre.

    What active channels are off it counts for all: it is stretched as if no channel rested.
    """
    active = bent > LEAST_LOG
    count = active.sum(axis=channels, keepdims=True)
    off = np.where(active, bent - centre, 0.0)
    level = off.sum(axis=channels, keepdims=True) / np.maximum(count, 1)
    stretch = np.sqrt((bent.shape[channels] - 1) / np.maximum(count - 1, 1))
    return centre + level + np.where(active, (off - level) * stretch, 0.0)


def locate(kind: str, shares: Floats) -> Floats:
    """Coordinates of shares (..., K): (..., K−1) log-ratios, or (..., K) square roots.

    A zero share is far in log-ratios.
    """
    bent = bend(kind, shares)
    return bent if kind == "sphere" else bent @ tangent_basis(shares.shape[-1])


def bend(kind: str, shares: Floats) -> Floats:
    """What is not linear in the coordinates: logarithms or square roots, share by share."""
    return (
        np.sqrt(np.maximum(shares, 0.0))
        if kind == "sphere"
        else np.log(np.maximum(shares, SMALLEST))
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
