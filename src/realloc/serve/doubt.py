"""The posterior covariance of the field in numpy, as `learn/teacher/covariance.py` computes it with torch: V = (v + δ²) I − Φᵀ Φ.

Gains only ask about directions in which shares sum to 0, so slopes are taken along K − 1 of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.numerics.row_stable import in_tiles
from realloc.base.simplex import Floats, tangent_basis
from realloc.serve.network import Floats32
from realloc.serve.potential import Units

ALONE = 0.45  # η of `learn/teacher/covariance.py`
PARTS = ("slope", "curve")
HALF = np.float32(0.5)


@dataclass(frozen=True, eq=False)
class Bump:
    """scale · exp(−½ distance²) between points (…, d) and fixed ones (m, d); the exponent is one product."""

    scale: Floats32  # (d,) one over the length
    fixed: Floats32  # (d+2, m)

    def __call__(self, points: Floats32) -> Floats32:
        """(…, m)."""
        scaled = points * self.scale
        size = -HALF * np.square(scaled).sum(axis=-1, keepdims=True)
        exponent = np.concatenate([scaled, size, np.ones_like(size)], axis=-1) @ self.fixed
        return np.exp(exponent, out=exponent)


def make_bump(scale: Floats32, log_amplitude: Any, fixed: Floats32) -> Bump:
    """Around the points `fixed` (m, d)."""
    scaled = fixed * scale
    size = log_amplitude - HALF * np.square(scaled).sum(axis=-1)
    return Bump(
        scale, np.concatenate([scaled.T, np.ones((1, len(fixed))), size[None]]).astype(np.float32)
    )


@dataclass(frozen=True, eq=False)
class Context:
    """l or q between states and the inducing rows: amplitude · exp(−½ distance²) + a linear part + a constant."""

    bump: Bump
    linear: Floats32  # (d,)
    amplitude: np.float32
    constant: np.float32
    fixed: Floats32  # (d, m) the inducing rows, each column weighed

    def between(self, x: Floats32) -> Floats32:
        """Of tiles of states (t, T, d): (t, T, m)."""
        near = self.bump(x)
        near += x @ self.fixed
        near += self.constant
        return near

    def own(self, x: Floats32) -> Floats32:
        """Of every state with itself."""
        return self.amplitude + (np.square(x) * self.linear).sum(axis=-1) + self.constant


@dataclass(frozen=True, eq=False)
class Doubt:
    """The kernel, its inducing rows, F, and δ² (None: η² v)."""

    slope: Context
    curve: Context
    reach: np.float32  # 1/ζ²
    x: Floats32  # (m, d)
    z: Floats32  # (m, K)
    factor: Floats32  # F (m, r)
    units: Units
    misfit: float | None

    def covariance(self, x: Floats32, shares: Floats) -> Floats:
        """V of states (n, d) at shares (n, K), in units of the outcome and of shares, along moves: (n, K, K)."""
        found = in_tiles(
            self._covariance, np.asarray(x, np.float32), self.units.shares(shares)
        )  # (n, D, D)
        Q = tangent_basis(shares.shape[1])
        spread = np.einsum("ki,lj->ijkl", Q, Q) * self.units.outcome**2
        total = np.zeros((len(x), *spread.shape[2:]))
        for i in range(Q.shape[1]):
            for j in range(Q.shape[1]):
                total += found[:, i, j, None, None] * spread[i, j]
        return total

    def slopes(self, x: Floats32, z: Floats32) -> Floats32:
        """Slopes of the kernel along the directions, of tiles of states and places: (t, D, T, m)."""
        bumps = self.curve.between(x)
        bumps *= self._places(z)
        both = self.slope.between(x)
        both += bumps
        own = z @ self.directions
        found = np.empty((len(x), own.shape[-1], *both.shape[1:]), np.float32)
        for k, theirs in enumerate(self._along):
            np.multiply(both, theirs, out=found[:, k])
            found[:, k] -= bumps * own[..., k, None]
        return found

    def prior(self, x: Floats32) -> Floats32:
        """v + δ² of every state."""
        prior = self.slope.own(x) + self.curve.own(x) * self.reach
        prior = prior * (1 + ALONE**2) if self.misfit is None else prior + self.misfit
        return prior.astype(np.float32, copy=False)

    @cached_property
    def directions(self) -> Floats32:
        """What moves along orthonormal directions are in scaled shares, (K, D)."""
        return (self.units.inverse[:, None] * tangent_basis(self.z.shape[1])).astype(np.float32)

    @cached_property
    def _along(self) -> Floats32:
        return np.ascontiguousarray((self.z @ self.directions).T)

    @cached_property
    def _places(self) -> Bump:
        return make_bump(
            np.full(self.z.shape[1], np.sqrt(self.reach), np.float32), np.log(self.reach), self.z
        )

    def _covariance(self, x: Floats32, z: Floats32) -> Floats32:
        slopes = self.slopes(x, z)
        phi = slopes @ self.factor  # (t, D, T, r): a product per tile and direction
        D = phi.shape[1]
        prior, metric = self.prior(x), self.directions.T @ self.directions
        found = np.empty((*z.shape[:2], D, D), np.float32)
        for k in range(D):
            for l in range(k + 1):
                settled = (phi[:, k] * phi[:, l]).sum(axis=-1)
                found[..., k, l] = found[..., l, k] = prior * metric[k, l] - settled
        return found


def read_doubt(arrays: Mapping[str, NDArray[Any]], units: Units, misfit: float | None) -> Doubt:
    """From arrays by the names they are saved under."""
    x = arrays["doubt.x"]
    contexts = {part: _read_context(arrays, part, x) for part in PARTS}
    return Doubt(
        reach=np.float32(np.exp(-2 * arrays["kernel.reach"])),
        x=x,
        z=arrays["doubt.z"],
        factor=arrays["doubt.factor"],
        units=units,
        misfit=misfit,
        **contexts,
    )


def _read_context(arrays: Mapping[str, NDArray[Any]], part: str, x: Floats32) -> Context:
    amplitude, linear = arrays[f"kernel.amplitude.{part}"], np.exp(arrays[f"kernel.linear.{part}"])
    return Context(
        bump=make_bump(np.exp(-arrays[f"kernel.length.{part}"]), amplitude, x),
        linear=linear,
        amplitude=np.float32(np.exp(amplitude)),
        constant=np.float32(np.exp(arrays[f"kernel.constant.{part}"])),
        fixed=np.ascontiguousarray((x * linear).T),
    )
