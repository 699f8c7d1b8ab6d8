"""The student: a scalar potential s(x, p), so that gains of finite moves are differences.

u = P₀∇_p s,  M_{k→l} = u_l − u_k,  gain of p → p' = s(x, p') − s(x, p)

s(x, z) = ⟨a(x), z⟩ + Σ_j w_j(x) [σ(⟨V_j, z⟩ + s_j(x)) − σ(s_j(x))],  z scaled shares

A network of the state gives a, s and w once per state; a share vector then costs one small layer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from realloc.base.simplex import Floats, Rows
from realloc.decide.search.gain_arrays import HasArrays, NetworkArrays
from realloc.learn.level import OutcomeLevel
from realloc.learn.networks.forward import Network, read_network, silu
from realloc.learn.scaling import Floats32, Scaling
from realloc.learn.student.local_polynomial import Polynomials, Trunk, near

AT_ONCE = (
    1 << 18
)  # hidden values held at a time, so that they stay in the processor's cache
CONTEXT = "context."


@dataclass(frozen=True, eq=False)
class Potential:
    """M members of s in units of the outcome, by the weights that the training left."""

    weights: Mapping[
        str, Floats32
    ]  # `directions` V (M, K, W), `offsets` (M, 1, W), `context.…`
    scaling: Scaling
    # What s is relative to, where outcomes differ in size.
    level: OutcomeLevel | None = None

    @property
    def directions(self) -> Floats32:
        """V (M, K, W)."""
        return self.weights["directions"]

    @property
    def members(self) -> int:
        """M."""
        return len(self.directions)

    @cached_property
    def context(self) -> Network:
        """The network of the state; refused where the weights do not fit together."""
        members, channels, width = self.directions.shape
        if self.weights["offsets"].shape != (members, 1, width):
            raise ValueError(f"offsets have the shape {self.weights['offsets'].shape}")
        own = {
            name.removeprefix(CONTEXT): values
            for name, values in self.weights.items()
            if name.startswith(CONTEXT)
        }
        inputs = own["weights.0"].shape[1]
        return read_network(own, inputs, channels + 2 * width)

    @cached_property
    def side_by_side(self) -> Floats32:
        """V of all members (K, M·W)."""
        M, K, W = self.directions.shape
        return np.ascontiguousarray(self.directions.transpose(1, 0, 2)).reshape(K, M * W)

    def read(self, x: Floats32) -> "PotentialAt":
        """Read states (n, d) once; any number of shares can then be valued cheaply."""
        M, K, W = self.directions.shape
        out = self.context(np.asarray(x, np.float32))  # (n, M, K + 2W)
        if self.level is not None:
            size = self.level(x).astype(np.float32)[:, None, None]
            out[..., :K] *= size
            out[..., K + W :] *= size
        shifts = out[..., K : K + W] + self.weights["offsets"][:, 0]
        return PotentialAt(
            a=np.ascontiguousarray(out[..., :K]),
            s=np.ascontiguousarray(shifts).reshape(len(x), M * W),
            w=np.ascontiguousarray(out[..., K + W :]).reshape(len(x), M * W),
            directions=self.side_by_side,
            scaling=self.scaling,
        )


@dataclass(frozen=True, eq=False)
class PotentialAt(HasArrays):
    """The potential at n states, members side by side: M·W units.

    Sums run over a row's own numbers, channel by channel, so no row depends on another.
    """

    a: Floats32  # (n, M, K)
    s: Floats32  # (n, M·W)
    w: Floats32  # (n, M·W)
    directions: Floats32  # V (K, M·W)
    scaling: Scaling

    @property
    def members(self) -> int:
        """M."""
        return self.a.shape[1]

    @cached_property
    def summed(self) -> Floats32:
        """The members' sum of a, (n, K)."""
        return self.a.sum(axis=1)

    def gain(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """s(end) − s(start) of every member: starts (a, K), ends (a, m, K) → (M, a, m)."""
        return np.moveaxis(self._gain(rows, start, ends), -1, 0)

    @cached_property
    def arrays(self) -> NetworkArrays:
        """The members' mean as numbers, in double precision."""
        return NetworkArrays(
            directions=self.directions,
            centre=self.scaling.centre,
            inverse=self.scaling.inverse,
            linear=self.summed,
            shifts=self.s,
            heights=self.w,
            unit=self.scaling.outcome / self.members,
        )

    def mean_gain(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """The members' mean of it, (a, m)."""
        return self.arrays.gain(rows, start, ends)

    def fields(self, rows: Rows, shares: Floats) -> Floats:
        """u of every member at shares (a, K): (M, a, K)."""
        width = self.w.shape[1] // self.members
        bend = self._bend(rows, shares).reshape(len(rows), self.members, width)  # (a, M, W)
        along = self.directions.reshape(
            len(self.directions), self.members, width
        )  # (K, M, W)
        slopes = self.a[rows] + np.stack([(bend * v).sum(axis=-1) for v in along], axis=-1)
        return np.moveaxis(self.scaling.field(slopes), 1, 0)

    def field(self, rows: Rows, shares: Floats) -> Floats:
        """The members' mean u at shares (a, K): (a, K)."""
        return self.arrays.field(rows, shares)

    def near(self, start: Floats, radius: float) -> Polynomials:
        """`mean_gain` of moves of at most `radius` from `start` (n, K), by polynomials."""
        argument = self._arguments(self.scaling.shares(start), self.s)
        trunk = Trunk(self.directions, argument, self.w, self.summed)
        return near(trunk, self.scaling.inverse, self.arrays.unit, start, radius)

    def _bend(self, rows: Rows, shares: Floats) -> Floats32:
        """w σ' of every unit at shares (a, K): (a, M·W)."""
        argument = self._arguments(self.scaling.shares(shares), self.s[rows])
        with np.errstate(over="ignore"):
            gate = 1 / (1 + np.exp(-argument))
        bend = gate * (1 + argument * (1 - gate)) * self.w[rows]
        return bend.astype(np.float32, copy=False)

    def _arguments(self, z: Floats32, s: Floats32) -> Floats32:
        """What the units see at scaled shares (…, K): (…, M·W)."""
        argument = z[..., 0, None] * self.directions[0]
        argument += s
        for k in range(1, len(self.directions)):
            argument += z[..., k, None] * self.directions[k]
        return argument

    def _gain(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """Of starts (a, K), ends (a, m, K), member by member: (a, m, M)."""
        z = self.scaling.shares(
            np.concatenate([start[:, None], ends], axis=1)
        )  # (a, 1 + m, K)
        M = self.members
        values = np.empty((*z.shape[:2], M))
        size = max(1, AT_ONCE // (z.shape[1] * self.w.shape[1]))
        for first in range(0, len(z), size):
            part = slice(first, first + size)
            states = rows[part]
            bent = silu(
                self._arguments(z[part], self.s[states][:, None])
            )  # (a, 1 + m, M·W)
            bent *= self.w[states][:, None]
            values[part] = bent.reshape(*bent.shape[:2], M, bent.shape[2] // M).sum(axis=-1)
            for k in range(z.shape[2]):
                values[part] += z[part][..., k, None] * self.a[states, None, :, k]
        return (values[:, 1:] - values[:, :1]) * self.scaling.outcome
