"""Support: does the log hold evidence for a place, and for the straight way to it?

A place is inside where its radius, plus `margin` standard errors of the border itself, is below the
calibrated radius of the level; where a way ends, the set of active channels must have been logged,
too. With many channels most sets are rare: a row that has such a set already may keep it where each
two of its channels were logged together. Scores are conformal ranks from 0 to 1: level 0.95 means a
score of 0.05.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, Mask, Rows, active_pattern
from realloc.decide.model import Neighbours
from realloc.decide.search.support_region import HasRegion, SupportRegion
from realloc.learn.scaling import Floats32
from realloc.learn.support.config import SupportConfig
from realloc.learn.support.conformal import ConformalRanks
from realloc.learn.support.coordinates import (
    LEAST_LOG,
    SMALLEST,
    channel_codes,
    pattern_codes,
)
from realloc.learn.support.density import Border, Density, fit_density
from realloc.learn.support.direction import Direction, fit_direction
from realloc.learn.support.logged import Logged

INTERVALS = 10  # of a way, as in the paper
INSIDE = (np.arange(1, INTERVALS) / INTERVALS)[:, None]
ALL_OF_WAY = np.linspace(0, 1, INTERVALS + 1)[:, None]
AT_ONCE = 20_000  # ways
FOLDS = 5


@dataclass(frozen=True)
class Support:
    """What the logged actions of the remembered windows support."""

    logged: Logged
    density: Density
    ranks: ConformalRanks
    config: SupportConfig

    @cached_property
    def direction(self) -> Direction:
        """The index of logged moves, built when first needed."""
        logged = self.logged
        return fit_direction(logged.x, logged.shares, self.density, self.config.neighbours)

    @cached_property
    def patterns(self) -> NDArray[np.uint64]:
        """The sets of active channels that were logged."""
        return np.unique(pattern_codes(self.logged.shares))

    @cached_property
    def pairs(self) -> Mask:
        """Which two channels were logged together (K, K), in enough actions to be compared."""
        active = active_pattern(self.logged.shares).astype(np.float64)
        return active.T @ active >= self.config.neighbours

    @cached_property
    def limit_error(self) -> float:
        """Standard error of the calibrated radius: of a quantile of n held-out actions."""
        level = self.config.level
        n = len(self.logged)
        off = np.sqrt(level * (1 - level) / n)
        return (self.ranks.at(min(level + off, 1 - 1 / n)) - self.ranks.at(level - off)) / 2

    def at(self, x: Floats32, remembered: Direction | None = None) -> "StateSupport":
        """The support of n states; ω is by the moves in the memory where they are given."""
        border = self.density.at(x, self.limit_error)
        return StateSupport(self, border, self.ranks.at(self.config.level), remembered)


@dataclass(frozen=True)
class StateSupport(HasRegion):
    """The support of n states, ready to judge places and ways."""

    support: Support
    border: Border
    limit: float  # largest radius inside
    remembered: Direction | None = None  # moves in the memory, where ω is by them

    def inside(self, rows: Rows, shares: Floats, start: Floats | None = None) -> Mask:
        """Whether shares (a, m, K) of some of the states are inside, margin and all: (a, m).

        From a `start` (a, K) whose set of channels they keep, a rare set may do.
        """
        found = self.border.radius(rows, shares, self.support.config.margin) <= self.limit
        return found & self._known_pattern(shares, start)

    def allowed(self, rows: Rows, start: Floats, ends: Floats) -> Mask:
        """Whether all of the way start (a, K) → ends (a, m, K) is inside: (a, m)."""
        both = np.concatenate([start[:, None], ends], axis=1)
        ends_of_ways = self.inside(rows, both, start)
        found = ends_of_ways[:, 1:] & ends_of_ways[:, :1]
        row, column = np.nonzero(found)
        for part in np.array_split(np.arange(len(row)), len(row) // AT_ONCE + 1):
            here = start[row[part]][:, None]
            there = ends[row[part], column[part]][:, None]
            between = (1 - INSIDE) * here + INSIDE * there  # (a, 9, K)
            kept = (
                self.border.radius(rows[row[part]], between, self.support.config.margin)
                <= self.limit
            )
            found[row[part], column[part]] = kept.all(axis=1)
        return (
            found & self._near_logged(rows, ends, found)
            if self.support.density.kind == "sphere"
            else found
        )

    def region(self) -> SupportRegion | None:
        """The border as numbers, for the compiled search."""
        support = self.support
        density = support.density
        border = self.border
        axes, shift = density.axes
        is_sphere = density.kind == "sphere"
        asks_moves = self.remembered is None or is_sphere
        return SupportRegion(
            kind=density.kind,
            axes=axes,
            shift=shift,
            centre=border.centre,
            scale=border.scale,
            centre_variance=border.centre_variance,
            scale_variance=border.scale_variance,
            limit=self.limit,
            margin=support.config.margin,
            patterns=support.patterns,
            codes=channel_codes(len(axes)),
            pairs=support.pairs,
            by_count=density.by_count,
            log_centre=border.log_centre,
            smallest_share=SMALLEST,
            least_log=LEAST_LOG,
            intervals=INTERVALS,
            moves=support.direction.moves if asks_moves else None,
            least_omega=1 - support.config.level,
        )

    def omega(self, rows: Rows, ends: Floats) -> Floats:
        """Directional support of ends (a, m, K): (a, m)."""
        a, m, K = ends.shape
        every = np.repeat(rows, m)
        places = ends.reshape(-1, K)
        if self.remembered is None:
            found = self.support.direction.omega(self.border, every, places)
        else:
            found = self.remembered.inverse_distance(self.border, every, places)
        return found.reshape(a, m)

    def score(self, rows: Rows, start: Floats, end: Floats) -> Floats:
        """The score of the worst point of the way start → end, both (a, K): (a,)."""
        way = (1 - ALL_OF_WAY) * start[:, None] + ALL_OF_WAY * end[:, None]
        worst = self.border.radius(rows, way, self.support.config.margin).max(axis=1)
        known = self._known_pattern(end[:, None], start)[:, 0]
        return np.where(known, self.support.ranks.score(worst), 0.0)

    def neighbours(self, rows: Rows, shares: Floats) -> Neighbours:
        """Logged moves like the one that ends at shares (a, K)."""
        found = self.support.direction.look(self.border, rows, shares)
        if self.remembered is None:
            return found
        return replace(found, omega=self.omega(rows, shares[:, None])[:, 0])

    def _near_logged(self, rows: Rows, ends: Floats, asked: Mask) -> Mask:
        """Where zeros occur the density is a coarse picture.

        There a place also needs logged moves like it.
        """
        near = asked.copy()
        row, column = np.nonzero(asked)
        if len(row):
            omega = self.support.direction.omega(self.border, rows[row], ends[row, column])
            near[row, column] = omega >= 1 - self.support.config.level
        return near

    def _known_pattern(self, shares: Floats, start: Floats | None) -> Mask:
        codes = pattern_codes(shares)
        known = self.support.patterns
        found = known[np.minimum(np.searchsorted(known, codes), len(known) - 1)] == codes
        if start is None or self.support.density.kind != "partial":
            return found
        active = active_pattern(start)
        apart = np.einsum("ak,kl,al->a", active, ~self.support.pairs, active)
        comparable = (apart == 0) & (active.sum(axis=1) > 1)
        same = codes == pattern_codes(start)[:, None]
        return found | (same & comparable[:, None])


def fit_support(
    logged: Logged, config: SupportConfig, seed: int, progress: Progress = silent
) -> Support:
    """Learn where the remembered actions lie, and calibrate the border on units that a fit never
    saw.
    """
    _, code = np.unique(logged.unit, return_inverse=True)
    count = min(FOLDS, int(code.max()) + 1)
    folds = (np.random.default_rng(seed).permutation(code.max() + 1) % count)[code]
    density, radius = fit_density(logged, folds, config, seed, progress)
    return Support(logged, density, ConformalRanks(np.sort(radius)), config)
