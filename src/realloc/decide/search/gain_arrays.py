"""Gains as numbers, which numpy and C read alike.

A student's are what the search values an end by once it has found it:

s(x, p) = ⟨a, z⟩ + Σ_j w_j σ(⟨V_j, z⟩ + s_j),  z = (p − centre) · inverse,  in double precision.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Rows, project_tangent

Floats32 = NDArray[np.float32]
AT_ONCE = (
    1 << 17
)  # hidden values held at a time, so that they stay in the processor's cache


@dataclass(frozen=True, eq=False)
class NetworkArrays:
    """The members' mean of a potential at n states: U units, members side by side."""

    directions: Floats32  # V (K, U)
    centre: Floats32  # (K,)
    inverse: Floats32  # (K,)
    linear: Floats32  # a, summed over members (n, K)
    shifts: Floats32  # s (n, U)
    heights: Floats32  # w (n, U)
    unit: float  # of the outcome, over the number of members

    def gain(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """s(end) − s(start) of starts (a, K) and ends (a, m, K): (a, m)."""
        places = np.concatenate([start[:, None], ends], axis=1)
        values = np.empty(places.shape[:2])
        size = max(1, AT_ONCE // (places.shape[1] * len(self.directions[0])))
        for first in range(0, len(places), size):
            part = slice(first, first + size)
            values[part] = self._value(rows[part], places[part])
        return (values[:, 1:] - values[:, :1]) * self.unit

    def field(self, rows: Rows, shares: Floats) -> Floats:
        """Slopes along moves at shares (a, K): (a, K)."""
        seen = self._see(rows, self._scale(shares)[:, None])[:, 0]
        gate = _gate(seen)
        bend = gate * (1 + seen * (1 - gate)) * self.heights[rows]
        slopes = self.linear[rows] + bend @ self.directions.T.astype(np.float64)
        return project_tangent(slopes * self.inverse * self.unit)

    def _value(self, rows: Rows, places: Floats) -> Floats:
        z = self._scale(places)
        seen = self._see(rows, z)
        seen *= _gate(seen)
        heights = self.heights[rows].astype(np.float64)
        bent = np.einsum("amu,au->am", seen, heights)
        return bent + np.einsum("amk,ak->am", z, self.linear[rows])

    def _see(self, rows: Rows, z: Floats) -> Floats:
        """What the units see at scaled shares (a, m, K): (a, m, U)."""
        return z @ self.directions.astype(np.float64) + self.shifts[rows][:, None]

    def _scale(self, shares: Floats) -> Floats:
        return (shares - self.centre) * self.inverse.astype(np.float64)


def _gate(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


@dataclass(frozen=True, eq=False)
class MixArrays:
    """Logged mixes that repeat, in the order of their first share, and what each is worth."""

    shares: Floats  # (G, K)
    worth: Floats  # (G,) beyond the surface
    rho: Floats  # (G,) the part of it that lasts
    lasting: float  # variance
    same: float  # L1 distance below which two mixes are one


class BeyondSurface:
    """Gains, or their standard deviations, of a surface and of the mixes that repeat."""

    surface: Any  # what holds everywhere

    @property
    def mix_arrays(self) -> MixArrays:
        """What holds at the mixes."""
        raise NotImplementedError


class HasArrays:
    """Gains that are known as numbers."""

    @cached_property
    def arrays(self) -> NetworkArrays:
        """The members' mean."""
        raise NotImplementedError
