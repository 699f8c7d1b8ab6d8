"""The student's potential in numpy, as `student/potential.py` computes it with torch.

s(x, p) = mean over members of ⟨a(x), z⟩ + Σ_j w_j(x) σ(⟨V_j, z⟩ + s_j(x)),  z = (p − centre) · inverse

States are read in tiles; a place then costs one row of a small product of its own, so nothing depends on other rows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realloc.decision.conservative import OfWays
from realloc.serving.network import Floats32, Network
from realloc.simplex import Floats
from realloc.student.nearby import Trunk, near, silu
from realloc.tiles import in_tiles

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
        _, K, W = self.directions.shape
        out = in_tiles(lambda tiles: self.network(tiles).transpose(0, 2, 1, 3), np.asarray(x, np.float32))  # (n, M, ·)
        a, s, w = out[..., :K], out[..., K : K + W] + self.offsets[:, 0], out[..., K + W : K + 2 * W]
        lift = np.empty((len(x), K + 1, self.members, W), np.float32)  # z and a 1 times this, then σ
        lift[:, :K], lift[:, K] = self.directions.transpose(1, 0, 2), s
        return Reading(
            a=np.ascontiguousarray(a),
            lift=lift.reshape(len(x), K + 1, self.members * W),
            w=np.ascontiguousarray(w).reshape(len(x), self.members * W),
            units=self.units,
        )


@dataclass(frozen=True, eq=False)
class Reading:
    """The potential of n states that have been read, members side by side."""

    a: Floats32  # (n, M, K)
    lift: Floats32  # (n, K+1, M·W)
    w: Floats32  # (n, M·W)
    units: Units

    @cached_property
    def summed(self) -> Floats32:
        """The members' sum of a, (n, K)."""
        return self.a.sum(axis=1)

    def mean_gain(self, rows: NDArray[np.integer], start: Floats, ends: Floats) -> Floats:
        """The members' mean of s(end) − s(start) for some of the states: starts (a, K), ends (a, m, K) → (a, m)."""
        z = self._places(start, ends)
        return self._difference(z, self.summed[rows], self.lift[rows], self.w[rows]) / self.a.shape[1]

    def gain(self, rows: NDArray[np.integer], start: Floats, ends: Floats) -> Floats:
        """s(end) − s(start) of every member: (M, a, m)."""
        z, M = self._places(start, ends), self.a.shape[1]
        W = self.w.shape[1] // M
        own = [slice(i * W, (i + 1) * W) for i in range(M)]
        parts = [(self.a[rows, i], self.lift[rows][:, :, own[i]], self.w[rows][:, own[i]]) for i in range(M)]
        return np.stack([self._difference(z, *part) for part in parts])

    def field(self, rows: NDArray[np.integer], shares: Floats) -> Floats:
        """The members' mean u at shares (a, K) of some of the states: (a, K)."""
        lift = self.lift[rows]
        pre = (_with_one(self.units.shares(shares)[:, None]) @ lift)[:, 0]
        with np.errstate(over="ignore"):
            gate = 1 / (1 + np.exp(-pre))
        bend = gate * (1 + pre * (1 - gate)) * self.w[rows]
        slopes = self.summed[rows] + (bend[:, None] @ lift[:, :-1].transpose(0, 2, 1))[:, 0]
        return self.units.field((slopes / self.a.shape[1]).astype(np.float32, copy=False))

    def near(self, start: Floats, radius: float) -> OfWays | None:
        """`mean_gain` on ways of at most `radius` around `start` (n, K), by polynomials; None where they would not be faster."""
        argument = (_with_one(self.units.shares(start)[:, None]) @ self.lift)[:, 0]
        trunk = Trunk(self.lift[0, :-1], argument, self.w, self.summed) if len(start) else None
        return near(trunk, self.units.inverse, self.units.outcome / self.a.shape[1], start, radius)

    def _places(self, start: Floats, ends: Floats) -> Floats32:
        """z and a 1 of the start and the ends, (a, 1 + m, K+1)."""
        return _with_one(self.units.shares(np.concatenate([start[:, None], ends], axis=1)))

    def _difference(self, z: Floats32, a: Floats32, lift: Floats32, w: Floats32) -> Floats:
        """Members' sum of s at the ends less that at the start, (a, m); every product is one row's own."""
        found = np.empty(z.shape[:2])
        size = max(1, AT_ONCE // (z.shape[1] * w.shape[1]))
        for first in range(0, len(z), size):
            part = slice(first, first + size)
            bent = silu(z[part] @ lift[part])  # (a, 1 + m, M·W)
            found[part] = (bent @ w[part, :, None])[..., 0]
            found[part] += (z[part, :, :-1] @ a[part, :, None])[..., 0]
        return (found[:, 1:] - found[:, :1]) * self.units.outcome


def _with_one(z: Floats32) -> Floats32:
    return np.concatenate([z, np.ones((*z.shape[:-1], 1), np.float32)], axis=-1)
