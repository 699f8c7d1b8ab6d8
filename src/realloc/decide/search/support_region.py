"""The supported region of n states as numbers, which the compiled search asks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Mask
from realloc.decide.search.point_index import PointIndex

KINDS = ("log_ratio", "partial", "sphere")  # in the order of c/problem.h


@dataclass(frozen=True, eq=False)
class LoggedMoves:
    """What ω asks: the index of logged moves, how a place is found there, ranks of distances."""

    index: PointIndex
    axes: Floats  # (2C, dimensions)
    unit: float
    anchor: float
    neighbours: int
    ranks: Floats


@dataclass(frozen=True, eq=False)
class SupportRegion:
    """Where n states are supported.

    A place p is inside if ‖axesᵀ u(p) − shift − centre‖ / scale, plus the safety margin, is within
    the limit, and its set of active channels was logged. u are logarithms (square roots on the
    sphere); resting channels are filled in by `log_centre`.
    """

    kind: str
    axes: Floats  # (K, C)
    shift: Floats  # (C,)
    centre: Floats  # (n, C)
    scale: Floats  # (n,) each
    centre_variance: Floats
    scale_variance: Floats
    limit: float
    margin: float
    # sets of active channels that were logged, as sums of `codes`
    patterns: NDArray[np.uint64]
    codes: NDArray[np.uint64]  # (K,)
    pairs: Mask  # (K, K): which channels were logged together
    by_count: Floats  # factor of the radius (K,) where 1, 2, … K channels are active
    log_centre: Floats | None  # (K, n)
    smallest_share: float  # whose logarithm is taken
    least_log: float  # of a channel that does not rest
    intervals: int  # of a way to an end, whose points between are asked about
    moves: LoggedMoves | None  # None: ω is by other moves than those that were logged
    least_omega: float  # of an end on the sphere


class HasRegion:
    """Support that may be known as numbers."""

    def region(self) -> SupportRegion | None:
        """Return None where only functions can tell."""
        raise NotImplementedError
