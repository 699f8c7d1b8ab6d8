"""What repeated mixes say beyond the smooth surface: readings of the same shares by several units.

r = y − m̂ − [f(p) − f(ê)] = a(p) + ε,   â = ρ r̄,   ρ = σ_a² / (σ_a² + σ_ε² / n)

Logs of recipes, tariffs or bundles hold the same mixes again and again. What their residuals r
share is a lasting property a of the mix, what they do not share is noise ε; both variances come
from the repeats (method of moments). A mix counts once per unit, because a unit that never changes
its mix says nothing about the mix apart from itself. Where mixes do not repeat the two cannot be
told apart: then nothing is added to any gain.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import KDTree

from realloc.base.simplex import Floats, Integers, Rows
from realloc.decide.conservative import MoveFunction
from realloc.decide.search.gain_arrays import BeyondSurface, MixArrays

MOST = 2000  # different mixes; logs with more are not of this kind
LEAST_REPEATS = 5  # readings beyond the first of their mix; fewer do not tell a variance
SURE = 0.99  # that mixes differ at all
SAME = 1e-6  # moved share below which two mixes are one
# per share; a prime, so that no usual fraction lies on the border of two cells
CELLS = 999_983


@dataclass(frozen=True, eq=False)
class RepeatedMixes:
    """Logged mixes (G, K), mean residuals around 0 and units of each (G,), and both variances."""

    shares: Floats
    residual: Floats
    count: Integers
    lasting: float  # σ_a²
    noise: float  # σ_ε²

    @cached_property
    def rho(self) -> Floats:
        """The part of each mean residual that lasts (G,)."""
        return self.lasting / (self.lasting + self.noise / self.count)

    @cached_property
    def tree(self) -> KDTree:
        """The index of the mixes."""
        return KDTree(self.shares)

    @cached_property
    def arrays(self) -> MixArrays:
        """As numbers, for the search."""
        order = np.argsort(self.shares[:, 0], kind="stable")
        worth = self.rho * self.residual
        return MixArrays(
            np.ascontiguousarray(self.shares[order]),
            worth[order],
            self.rho[order],
            self.lasting,
            2 * SAME,
        )

    def gain(self, start: Floats, ends: Floats) -> Floats:
        """â(end) − â(start) of starts (a, K) and ends (a, m, K): (a, m)."""
        worth = np.append(self.rho * self.residual, 0.0)
        return worth[self._find(ends)] - worth[self._find(start)][:, None]

    def sigma(self, surface: Floats, start: Floats, ends: Floats) -> Floats:
        """How far gains may be off (a, m).

        The surface's σ̂ as far as it still counts, and what is unknown of each mix.
        """
        rho = np.append(self.rho, 0.0)
        here = rho[self._find(start)][:, None]
        there = rho[self._find(ends)]
        smooth = (1 - np.minimum(here, there)) * surface
        return np.sqrt(np.square(smooth) + self.lasting * ((1 - here) + (1 - there)))

    def _find(self, shares: Floats) -> Integers:
        """The number of the mix at shares (..., K), G where none is."""
        _, found = self.tree.query(shares, p=1, distance_upper_bound=2 * SAME)
        return np.asarray(found, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class GainBeyondSurface(BeyondSurface):
    """Gains of a surface, and between logged mixes what their repeats say beyond it."""

    surface: MoveFunction
    mixes: RepeatedMixes

    @property
    def mix_arrays(self) -> MixArrays:
        """As numbers."""
        return self.mixes.arrays

    def __call__(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """Of starts (a, K) and ends (a, m, K): (a, m)."""
        return self.surface(rows, start, ends) + self.mixes.gain(start, ends)


@dataclass(frozen=True, eq=False)
class StdBeyondSurface(BeyondSurface):
    """Standard deviations of such gains."""

    surface: MoveFunction
    mixes: RepeatedMixes

    @property
    def mix_arrays(self) -> MixArrays:
        """As numbers."""
        return self.mixes.arrays

    def __call__(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """Of starts (a, K) and ends (a, m, K): (a, m)."""
        return self.mixes.sigma(self.surface(rows, start, ends), start, ends)


def fit_mixes(
    shares: Floats, units: Rows, weights: Floats, residual: Callable[[], Floats]
) -> RepeatedMixes | None:
    """Learn both variances from repeats of shares (n, K) by different units.

    None where nothing lasting shows.
    """
    counted = weights > 0
    _, first, mix = np.unique(
        np.rint(shares * CELLS), axis=0, return_index=True, return_inverse=True
    )
    if len(first) > MOST or len(first) < 2:
        return None
    pairs, pair = np.unique(
        np.stack([mix.ravel(), units], axis=1)[counted], axis=0, return_inverse=True
    )
    owner = pairs[:, 0]
    if len(owner) - len(np.unique(owner)) < LEAST_REPEATS:
        return None
    w = weights[counted]
    reading = np.bincount(pair.ravel(), w * residual()[counted]) / np.bincount(
        pair.ravel(), w
    )
    present, owner = np.unique(owner, return_inverse=True)
    return _separate(shares[first[present]], reading, owner)


def _separate(mixes: Floats, reading: Floats, owner: Integers) -> RepeatedMixes | None:
    """Variance components of readings (J,) by their mix.

    Within mixes the noise, between them what lasts.
    """
    J = len(reading)
    G = len(mixes)
    count = np.bincount(owner, minlength=G)
    mean = np.bincount(owner, reading, minlength=G) / count
    noise = float(np.square(reading - mean[owner]).sum() / (J - G))
    between = float((count * np.square(mean - reading.mean())).sum() / (G - 1))
    lasting = (between - noise) * (G - 1) / (J - float(np.square(count).sum()) / J)
    from scipy.stats import f as f_law

    if not lasting > 0 or between < noise * f_law.ppf(SURE, G - 1, J - G):
        return None  # noise alone would look like this
    return RepeatedMixes(
        np.array(mixes, dtype=np.float64), mean - reading.mean(), count, lasting, noise
    )
