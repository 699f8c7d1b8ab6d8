"""An exact index of points: the nearest ones, and how many are near.

A k-d tree in C where it was compiled (`c/neighbours.c`), which the compiled search asks without
leaving C; scipy's elsewhere.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import KDTree

from realloc.base.numerics.clib import Table
from realloc.base.simplex import Floats, Integers
from realloc.decide.search.library import MOST_AXES, search_library

LEAF = 32  # points that are looked at one by one: a third faster than scipy's 10
MOST_NEIGHBOURS = 1024  # of c/neighbours.c


@dataclass(frozen=True, eq=False)
class Nearest:
    """Of m places: the k-th neighbour's distance, how many are near, the k nearest."""

    distance: Floats  # (m,)
    count: Integers  # (m,)
    numbers: Integers  # (m, k), nearest first


@dataclass(frozen=True, eq=False)
class PointIndex:
    """Of points (n, dimensions)."""

    points: Floats

    def look(self, places: Floats, k: int, radius: float) -> Nearest:
        """The k nearest points of places (m, dimensions)."""
        library = search_library()
        if (
            library is None
            or not self.is_small
            or k > min(MOST_NEIGHBOURS, len(self.points))
        ):
            distance, numbers = self.tree.query(places, k=k)
            count = self.tree.query_ball_point(places, radius, return_length=True)
            return Nearest(
                distance.reshape(len(places), k)[:, -1],
                np.asarray(count, dtype=np.int64),
                numbers.reshape(len(places), k),
            )
        at = np.ascontiguousarray(places, dtype=np.float64)
        m = len(at)
        found = Nearest(np.empty(m), np.empty(m, np.int64), np.empty((m, k), np.int64))
        library.call(
            "realloc_neighbours",
            self._table,
            at,
            m,
            k,
            np.array([radius]),
            found.distance,
            found.count,
            found.numbers,
        )
        return found

    @cached_property
    def _table(self) -> Table:
        return Table(**self.fields)

    @property
    def is_small(self) -> bool:
        """Whether the C code has room for the dimensions."""
        return 1 <= self.points.shape[1] <= MOST_AXES

    @cached_property
    def tree(self) -> KDTree:
        """scipy's, where nothing was compiled."""
        return KDTree(self.points, leafsize=LEAF)

    @cached_property
    def fields(self) -> dict[str, int | Floats | Integers]:
        """`Index` of c/problem.h."""
        points = np.ascontiguousarray(self.points, dtype=np.float64)
        n, dimensions = points.shape
        order = np.empty(n, np.int64)
        nodes = 4 * max(1, -(-n // LEAF)) + 3
        split = np.zeros(nodes, np.int64)
        border = np.zeros(nodes)
        library = search_library()
        if library is not None and n and self.is_small:
            library.call(
                "realloc_build_index", points, n, dimensions, LEAF, order, split, border
            )
            points = points[order]
        return {
            "count": n,
            "dimensions": dimensions,
            "leaf": LEAF,
            "points": points,
            "order": order,
            "split": split,
            "border": border,
        }
