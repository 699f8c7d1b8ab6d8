"""A metric in numbers per randomized unit: the ratio Σy/Σd; a mean per unit has d = units in the cluster."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from realloc.base.simplex import Floats

FLAT = 1e-12  # relative spread below which a column counts as constant


@dataclass(frozen=True, eq=False)
class Parts:
    """Numerator y, denominator d, and the same from before the test (x, w), one value per randomized unit."""

    y: Floats
    d: Floats
    x: Floats | None = None
    w: Floats | None = None

    def take(self, rows: Any) -> "Parts":
        """Some of the units."""
        if self.x is None or self.w is None:
            return Parts(self.y[rows], self.d[rows])
        return Parts(self.y[rows], self.d[rows], self.x[rows], self.w[rows])

    @property
    def level(self) -> float:
        """The metric itself."""
        return float(self.y.sum() / self.d.sum())


def unit_variance(parts: Parts) -> float:
    """Variance of one unit's part in Σy/Σd (delta method), less what its past explains (CUPED)."""
    own = linearised(parts.y, parts.d)
    if parts.x is None or parts.w is None:
        return float(own.var(ddof=1))
    spread = np.cov(own, linearised(parts.x, parts.w))
    return float(spread[0, 0] - spread[0, 1] ** 2 / spread[1, 1])


def variance_reduction(parts: Parts) -> float:
    """The part of the variance that CUPED takes off: the squared correlation with the past; NaN without a past."""
    if parts.x is None or is_flat(Parts(parts.y, parts.d)):
        return float("nan")
    return 1 - unit_variance(parts) / unit_variance(Parts(parts.y, parts.d))


def linearised(y: Floats, d: Floats) -> Floats:
    """Each unit's pull on Σy/Σd: (y − R·d) / mean d."""
    return (y - y.sum() / d.sum() * d) / d.mean()


def is_flat(parts: Parts) -> bool:
    """Whether every unit has the same value, or the same ratio."""
    pull = np.abs(linearised(parts.y, parts.d)).max() * parts.d.mean()
    return bool(pull <= FLAT * max(np.abs(parts.y).max(), 1e-300))
