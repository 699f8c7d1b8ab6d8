"""Directional support ω: did the log make moves like this one? Neighbours of (where it ends, what
was usual for the state).

A logged action is a move away from what the policy does in that state. Its displacement and the
usual place m(x) together say which move it was, so a candidate's neighbours are logged moves of
similar direction and size from a similar start. ω is the candidate's rank among logged actions by
the distance of the k-th neighbour: 1 in the midst, 0 where there are none.

The same index over the ends of the moves in the memory gives ω as the paper prints it, by inverse
distance.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats, Rows
from realloc.decide.model import Neighbours
from realloc.decide.search.point_index import PointIndex
from realloc.decide.search.support_region import LoggedMoves
from realloc.learn.scaling import Floats32
from realloc.learn.support.conformal import ConformalRanks
from realloc.learn.support.density import Border, Density

MOST_DIMENSIONS = 12  # beyond which an index is no faster than looking at every row
ANCHOR = 0.5  # how much the usual place counts against the place itself


@dataclass(frozen=True)
class Direction:
    """An exact index of actions."""

    index: PointIndex
    axes: Floats  # (2D, dimensions)
    unit: float  # one standard deviation of an action given its state
    ranks: ConformalRanks
    near: float  # the distance within which a typical action has k neighbours
    k: int

    @property
    def moves(self) -> LoggedMoves:
        """As numbers, for the compiled search."""
        return LoggedMoves(
            self.index, self.axes, self.unit, ANCHOR, self.k, self.ranks.values
        )

    def look(self, border: Border, rows: Rows, shares: Floats) -> Neighbours:
        """Neighbours of shares (a, K) of some of the border's states."""
        found = self.index.look(self._points(border, rows, shares), self.k, self.near)
        return Neighbours(
            omega=self.ranks.score(found.distance),
            count=found.count,
            nearest=found.numbers,
        )

    def omega(self, border: Border, rows: Rows, shares: Floats) -> Floats:
        """ω alone."""
        return self.ranks.score(self._furthest(border, rows, shares))

    def inverse_distance(self, border: Border, rows: Rows, shares: Floats) -> Floats:
        """d̄ / (d̄ + d), with d the distance of the k-th neighbour and d̄ that of a typical action."""
        return self.near / (self.near + self._furthest(border, rows, shares))

    def _furthest(self, border: Border, rows: Rows, shares: Floats) -> Floats:
        points = self._points(border, rows, shares)
        return self.index.look(points, self.k, 0.0).distance

    def _points(self, border: Border, rows: Rows, shares: Floats) -> Floats:
        place = border.place(rows, shares)
        both = np.concatenate([place, ANCHOR * border.centre[rows]], axis=1)
        # one product a row, so that no row depends on another
        return (both[:, None] @ self.axes)[:, 0] / self.unit


def fit_direction(
    x: Floats32, shares: Floats, density: Density, neighbours: int
) -> Direction:
    """Index actions: the shares (n, K) that were chosen in states (n, d)."""
    border = density.at(x)
    place = border.place(np.arange(len(x)), shares)
    both = np.concatenate([place, ANCHOR * border.centre], axis=1)
    axes = _axes(both)
    unit = float(np.median(border.scale))
    k = max(1, min(neighbours, (len(x) - 1) // 2))
    points = both @ axes / unit
    index = PointIndex(points)
    # the nearest is the action itself
    own = np.sort(index.look(points, k + 1, 0.0).distance)
    return Direction(index, axes, unit, ConformalRanks(own), float(np.median(own)), k)


def _axes(points: Floats) -> Floats:
    """All axes, or the widest ones where there are too many for an index."""
    if points.shape[1] <= MOST_DIMENSIONS:
        return np.eye(points.shape[1])
    _, vectors = np.linalg.eigh(np.cov(points.T))
    return vectors[:, -MOST_DIMENSIONS:]
