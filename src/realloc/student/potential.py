"""The student: a scalar potential s(x, p), so that gains of finite moves are differences and every way gives the same sum.

u = P₀∇_p s,  M_{k→l} = u_l − u_k,  gain of p → p' = s(x, p') − s(x, p)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realloc.networks.branch import Branch, BranchShape, Plain
from realloc.teacher.sample import Scaling

Floats = NDArray[np.float64]

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

    def _value(self, x: Tensor, p: Tensor) -> Tensor:
        return self.network.open(x).value(self.scaling.shares(p)) * self.scaling.outcome

    def _field(self, x: Tensor, p: Tensor) -> Tensor:
        return self.scaling.field(self.network.open(x).slopes(self.scaling.shares(p)))

    def _chunks(self, x: NDArray[np.float32], shares: Floats, compute: Callable[[Tensor, Tensor], Tensor]) -> Floats:
        M, parts = self.members, []
        for first in range(0, max(len(x), 1), CHUNK):
            rows = slice(first, first + CHUNK)
            states = torch.from_numpy(np.array(x[rows], dtype=np.float32))
            places = torch.from_numpy(np.array(shares[rows], dtype=np.float32))
            parts.append(compute(states.expand(M, -1, -1), places.expand(M, *places.shape)).double().numpy())
        return np.concatenate(parts, axis=1)


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
        torch.where(still, scaling.centre, old.centre), torch.where(still, scaling.inverse, old.inverse), old.outcome
    )
    return Potential(former.network, opened)
