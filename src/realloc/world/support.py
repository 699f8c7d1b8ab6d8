"""Oracle support: the high-density region {p : f(u(p) | H,B) ≥ t(H,B)} of fixed mass, and paths.

The mixture's density falls with the Mahalanobis distance r² alone, so its own quantile is a
quantile of r²: the region is r² ≤ R² with (1−ε) F(R²) + ε F(R²/c²) = level, F the χ² law of K−1
degrees. Logged actions are inside at that rate.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2

from realloc.base.simplex import Floats, Mask, Rows
from realloc.world.logging_policy import Law


@dataclass(frozen=True, eq=False)
class TrueRegion:
    """The support region of n contexts."""

    law: Law
    radius_squared: float

    def take(self, rows: Rows) -> "TrueRegion":
        """The region of some of the contexts, in that order."""
        return TrueRegion(self.law.take(rows), self.radius_squared)

    def inside(self, shares: Floats) -> Mask:
        """Whether shares (n, K) or (n, m, K) lie in the region."""
        return self.law.distance(shares) <= self.radius_squared

    def path_inside(self, start: Floats, ends: Floats, intervals: int = 10) -> Mask:
        """Whether all of start (n, K) → ends (n, m, K) is inside on 0, 1/J, …, 1: (n, m)."""
        inside = self.inside(ends) & self.inside(start)[:, None]
        row, column = np.nonzero(inside)
        for s in np.arange(1, intervals) / intervals:
            between = (1 - s) * start[row] + s * ends[row, column]
            kept = self.take(row).inside(between)
            inside[row[~kept], column[~kept]] = False
            row = row[kept]
            column = column[kept]
        return inside

    def nonconformity(self, start: Floats, end: Floats, intervals: int = 10) -> Floats:
        """Largest −log density on the way from start to end, both (n, K): (n,)."""
        grid = np.arange(intervals + 1) / intervals
        return np.max(
            [-self.law.log_density((1 - s) * start + s * end) for s in grid], axis=0
        )


def open_region(law: Law, level: float) -> TrueRegion:
    """The region of mass `level` under the law."""
    d = len(law.centre)
    eps = law.exploration
    c = law.exploration_scale

    def missing_mass(squared: float) -> float:
        outside = (1 - eps) * chi2.sf(squared, d) + eps * chi2.sf(squared / c**2, d)
        return float(outside) - (1 - level)

    highest = c**2 * float(chi2.isf((1 - level) / 2, d)) + 1
    return TrueRegion(law, cast("float", brentq(missing_mass, 0.0, highest, xtol=1e-12)))
