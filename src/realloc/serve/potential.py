"""The student's potential in numpy, as `learn/student/potential.py` computes it with torch.

s(x, p) = mean over members of ⟨a(x), z⟩ + Σ_j w_j(x) σ(⟨V_j, z⟩ + s_j(x)),  z = (p − centre) · inverse

States are read in tiles; a place then costs one row of a small product of its own, so nothing depends on other rows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realloc.base.numerics.row_stable import in_tiles
from realloc.base.simplex import Floats
from realloc.decide.conservative import MoveFunction
from realloc.learn.student.local_polynomial import Trunk, near, silu
from realloc.serve.network import Floats32, Network

AT_ONCE = 1 << 18  # hidden values held at a time, so that they stay in the processor's cache


@dataclass(frozen=True)
class Units:
    """z = (p − centre) · inverse per channel; y in units of `outcome`."""

    centre: Floats32
    inverse: Floats32
    outcome: float

    def shares(self, p: Floats) -> Floats32:
        """z of shares (…, K)."""
        return (p.astype(np.float32) - self.centre) * self.inverse

    def field(self, slopes: Floats32) -> Floats:
        """P₀∇_p in units of the outcome, from ∇_z (…, K)."""
        field = slopes * self.inverse * np.float32(self.outcome)
        return (field - field.mean(axis=-1, keepdims=True)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Potential:
    """M members of s in units of the outcome."""

    network: Network
    directions: Floats32  # V (M, K, W)
    offsets: Floats32  # (M, 1, W)
    units: Units

    @property
    def members(self) -> int:
        """M."""
        return len(self.directions)

    def read(self, x: Floats32) -> "Reading":
        """Read states (n, d) once; any number of shares can then be valued cheaply."""
        M, K, W = self.directions.shape
        out = in_tiles(
            lambda tiles: self.network(tiles).transpose(0, 2, 1, 3), np.asarray(x, np.float32)
        )  # (n, M, ·)
        a, s, w = (
            out[..., :K],
            out[..., K : K + W] + self.offsets[:, 0],
            out[..., K + W : K + 2 * W],
        )
        return Reading(
            a=np.ascontiguousarray(a),
            s=np.ascontiguousarray(s).reshape(len(x), M * W),
            w=np.ascontiguousarray(w).reshape(len(x), M * W),
            directions=np.ascontiguousarray(self.directions.transpose(1, 0, 2)).reshape(K, M * W),
            units=self.units,
        )


@dataclass(frozen=True, eq=False)
class Reading:
    """The potential of n states that have been read, members side by side: M·W units.

    Sums go over a row's own numbers and channel by channel, so nothing depends on other rows.
    """

    a: Floats32  # (n, M, K)
    s: Floats32  # (n, M·W)
    w: Floats32  # (n, M·W)
    directions: Floats32  # V (K, M·W)
    units: Units

    @cached_property
    def summed(self) -> Floats32:
        """The members' sum of a, (n, K)."""
        return self.a.sum(axis=1)

    def mean_gain(self, rows: NDArray[np.integer], start: Floats, ends: Floats) -> Floats:
        """The members' mean of s(end) − s(start) for some of the states: starts (a, K), ends (a, m, K) → (a, m)."""
        return self._gain(rows, start, ends).sum(axis=-1) / self.a.shape[1]

    def gain(self, rows: NDArray[np.integer], start: Floats, ends: Floats) -> Floats:
        """s(end) − s(start) of every member: (M, a, m)."""
        return np.moveaxis(self._gain(rows, start, ends), -1, 0)

    def field(self, rows: NDArray[np.integer], shares: Floats) -> Floats:
        """The members' mean u at shares (a, K) of some of the states: (a, K)."""
        pre = self._arguments(self.units.shares(shares), self.s[rows])
        with np.errstate(over="ignore"):
            gate = 1 / (1 + np.exp(-pre))
        bend = gate * (1 + pre * (1 - gate)) * self.w[rows]
        slopes = self.summed[rows] + np.stack(
            [(bend * own).sum(axis=-1) for own in self.directions], axis=-1
        )
        return self.units.field((slopes / self.a.shape[1]).astype(np.float32, copy=False))

    def near(self, start: Floats, radius: float) -> MoveFunction | None:
        """`mean_gain` on ways of at most `radius` around `start` (n, K), by polynomials; None where they would not be faster."""
        argument = self._arguments(self.units.shares(start), self.s)
        trunk = Trunk(self.directions, argument, self.w, self.summed) if len(start) else None
        return near(trunk, self.units.inverse, self.units.outcome / self.a.shape[1], start, radius)

    def _arguments(self, z: Floats32, s: Floats32) -> Floats32:
        """What the units see at places z (…, K): (…, M·W)."""
        found = z[..., 0, None] * self.directions[0]
        found += s
        for k in range(1, len(self.directions)):
            found += z[..., k, None] * self.directions[k]
        return found

    def _gain(self, rows: NDArray[np.integer], start: Floats, ends: Floats) -> Floats:
        """Of starts (a, K), ends (a, m, K), member by member: (a, m, M)."""
        z = self.units.shares(np.concatenate([start[:, None], ends], axis=1))  # (a, 1 + m, K)
        M, U = self.a.shape[1], self.w.shape[1]
        found = np.empty((*z.shape[:2], M))
        size = max(1, AT_ONCE // (z.shape[1] * U))
        for first in range(0, len(z), size):
            part = slice(first, first + size)
            here, places = rows[part], z[part]
            bent = silu(self._arguments(places, self.s[here][:, None]))  # (a, 1 + m, M·W)
            bent *= self.w[here][:, None]
            found[part] = bent.reshape(*bent.shape[:2], M, U // M).sum(axis=-1)
            for k in range(z.shape[2]):
                found[part] += places[..., k, None] * self.a[here, None, :, k]
        return (found[:, 1:] - found[:, :1]) * self.units.outcome
