"""The student: a scalar potential s(x, p), so that gains of finite moves are differences and every way gives the same sum.

u = P₀∇_p s,  M_{k→l} = u_l − u_k,  gain of p → p' = s(x, p') − s(x, p)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats
from realloc.decide.conservative import MoveFunction
from realloc.learn.networks.branch import Branch, BranchAt, BranchShape, OpenedPlain, Plain
from realloc.learn.student.local_polynomial import Trunk, near
from realloc.learn.teacher.sample import Scaling

CHUNK = 8192
FORMS = {"branch": Branch, "plain": Plain}


@dataclass(frozen=True)
class Potential:
    """M members of s in units of the outcome."""

    network: Branch | Plain
    scaling: Scaling

    @property
    def members(self) -> int:
        """M."""
        return self.network.members

    @torch.no_grad()
    def value(self, x: NDArray[np.float32], shares: Floats) -> Floats:
        """s of every member at states (n, d) and shares (n, q, K), up to a function of the state: (M, n, q)."""
        return self._chunks(x, shares, self._value)

    @torch.no_grad()
    def field(self, x: NDArray[np.float32], shares: Floats) -> Floats:
        """u of every member at shares (n, q, K): (M, n, q, K)."""
        return self._chunks(x, shares, self._field)

    def gain(self, x: NDArray[np.float32], start: Floats, end: Floats) -> Floats:
        """s(end) − s(start) of every member for shares (n, K): (M, n)."""
        values = self.value(x, np.stack([start, end], axis=1))
        return values[..., 1] - values[..., 0]

    @torch.no_grad()
    def read(self, x: NDArray[np.float32]) -> "Reading":
        """Read states (n, d) once; any number of shares can then be valued cheaply."""
        states = torch.from_numpy(np.array(x, dtype=np.float32))
        return Reading(self.network.open(states.expand(self.members, -1, -1)), self.scaling)

    def _value(self, x: Tensor, p: Tensor) -> Tensor:
        return self.network.open(x).value(self.scaling.shares(p)) * self.scaling.outcome

    def _field(self, x: Tensor, p: Tensor) -> Tensor:
        return self.scaling.field(self.network.open(x).slopes(self.scaling.shares(p)))

    def _chunks(
        self, x: NDArray[np.float32], shares: Floats, compute: Callable[[Tensor, Tensor], Tensor]
    ) -> Floats:
        M, parts = self.members, []
        for first in range(0, max(len(x), 1), CHUNK):
            rows = slice(first, first + CHUNK)
            states = torch.from_numpy(np.array(x[rows], dtype=np.float32))
            places = torch.from_numpy(np.array(shares[rows], dtype=np.float32))
            parts.append(
                compute(states.expand(M, -1, -1), places.expand(M, *places.shape)).double().numpy()
            )
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Reading:
    """The potential of n states that have been read."""

    opened: BranchAt | OpenedPlain
    scaling: Scaling

    @torch.no_grad()
    def gain(self, rows: NDArray[np.integer], start: Floats, ends: Floats) -> Floats:
        """s(end) − s(start) of every member for some of the states: starts (a, K), ends (a, m, K) → (M, a, m)."""
        both = np.concatenate([start[:, None], ends], axis=1).astype(np.float32)
        z = self.scaling.shares(torch.from_numpy(both))
        opened = self.opened.take(torch.from_numpy(np.array(rows)))
        values = opened.value(z.expand(self.members, *z.shape)).double().numpy()
        return (values[..., 1:] - values[..., :1]) * self.scaling.outcome

    def mean_gain(self, rows: NDArray[np.integer], start: Floats, ends: Floats) -> Floats:
        """The members' mean of it, (a, m)."""
        return self.gain(rows, start, ends).mean(axis=0)

    @torch.no_grad()
    def field(self, rows: NDArray[np.integer], shares: Floats) -> Floats:
        """The members' mean u at shares (a, K) of some of the states: (a, K)."""
        z = self.scaling.shares(torch.from_numpy(shares.astype(np.float32)))
        opened = self.opened.take(torch.from_numpy(np.array(rows)))
        return (
            self.scaling.field(opened.slopes(z.expand(self.members, *z.shape)))
            .mean(0)
            .double()
            .numpy()
        )

    def near(self, start: Floats, radius: float) -> MoveFunction | None:
        """`mean_gain` on ways of at most `radius` around `start` (n, K), by polynomials; None where they would not be faster."""
        opened = self.opened
        if isinstance(opened, OpenedPlain) or not len(start):
            return None
        z = self.scaling.shares(torch.from_numpy(start.astype(np.float32)))
        argument, w = (
            part.transpose(0, 1).flatten(1) for part in (z @ opened.directions + opened.s, opened.w)
        )
        directions = opened.directions.transpose(0, 1).flatten(1)
        trunk = Trunk(
            *(part.detach().numpy() for part in (directions, argument, w, opened.a.sum(0)))
        )
        return near(
            trunk, self.scaling.inverse.numpy(), self.scaling.outcome / self.members, start, radius
        )

    def drop(self, rate: float, draws: int, seed: int) -> "Reading":
        """Monte-Carlo dropout: `draws` copies of every member, each without a random part of its trunk."""
        if not isinstance(self.opened, BranchAt):
            raise ConfigError('Expected `form = "branch"` in [student] for dropout, got "plain".')
        a, s, w, heads = (
            part.repeat(draws, 1, 1)
            for part in (self.opened.a, self.opened.s, self.opened.w, self.opened.heads)
        )
        generator = torch.Generator().manual_seed(seed)
        kept = torch.rand(len(w), 1, w.shape[2], generator=generator) >= rate
        directions = self.opened.directions.repeat(draws, 1, 1)
        return Reading(BranchAt(directions, a, s, w * kept / (1 - rate), heads), self.scaling)

    @property
    def members(self) -> int:
        """M."""
        return (
            len(self.opened.heads)
            if isinstance(self.opened, BranchAt)
            else self.opened.network.members
        )


def build(form: str, members: int, shape: BranchShape, scaling: Scaling, seed: int) -> Potential:
    """A new potential: zero everywhere until it has learned, and flat along channels that never moved."""
    network = FORMS[form](members, shape, seed)
    still = scaling.inverse == 0
    with torch.no_grad():
        if isinstance(network, Branch):
            network.directions[:, still] = 0
        else:
            network.network.weights[0][:, shape.inputs :][:, still] = 0
    return Potential(network, scaling)


def open_channels(former: Potential, scaling: Scaling) -> Potential:
    """The same potential, able to learn about channels that move for the first time; along them it is still flat."""
    old = former.scaling
    still = old.inverse == 0
    if not bool((still & (scaling.inverse > 0)).any()):
        return former
    opened = Scaling(
        torch.where(still, scaling.centre, old.centre),
        torch.where(still, scaling.inverse, old.inverse),
        old.outcome,
    )
    return Potential(former.network, opened)
