"""How far a learned gain may be off: the posterior covariance of the field, by the kernel surface.

sd(p → p')² = (p' − p)ᵀ V(x, p) (p' − p),  V = a (v I − ΦᵀΦ) + δ² I,  Φ (r, K) = Fᵀ · (slopes of
the kernel)

Members of an ensemble agree about what none of them has learned. A Gaussian process knows what it
has not: v is the prior variance of a slope, and ΦᵀΦ takes off what the rows have settled, F Fᵀ = Wᵀ
[I − σ²(Σφφᵀ + σ²I)⁻¹] W with W that whitens the inducing rows. Of F only the r directions that
settle anything are kept (`posterior.py`). How large that is on average, a says: the variance of
the committee, whose members were drawn or left units out, over the posterior's own. δ² stays for
what the process itself may be wrong about: how far surfaces of the committee disagree about moves,
or η² v where there is but one. docs/decisions/0006 and 0020 say how δ and η were chosen. Gains ask
only about directions in which shares sum to 0, so slopes are taken along K − 1 of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from realloc.base.numerics.row_stable import in_tiles, multiply
from realloc.base.simplex import Floats, tangent_basis
from realloc.learn.level import OutcomeLevel
from realloc.learn.scaling import Floats32, Scaling

HALF = np.float32(0.5)


@dataclass(frozen=True, eq=False)
class Bump:
    """scale · exp(−½ distance²) between points (…, d) and fixed ones (m, d), as one product."""

    scale: Floats32  # (d,) one over the length
    fixed: Floats32  # (d + 2, m)

    def __call__(self, points: Floats32) -> Floats32:
        """(…, m)."""
        scaled = points * self.scale
        size = -HALF * np.square(scaled).sum(axis=-1, keepdims=True)
        exponent = multiply(
            np.concatenate([scaled, size, np.ones_like(size)], axis=-1), self.fixed
        )
        return np.exp(exponent, out=exponent)


def make_bump(scale: Floats32, log_amplitude: float, fixed: Floats32) -> Bump:
    """Around the points `fixed` (m, d)."""
    scaled = fixed * scale
    size = log_amplitude - HALF * np.square(scaled).sum(axis=-1)
    rows = [scaled.T, np.ones((1, len(fixed))), size[None]]
    return Bump(scale, np.concatenate(rows).astype(np.float32))


@dataclass(frozen=True, eq=False)
class Context:
    """One part of the kernel between states and the inducing rows.

    A bump, a linear part, a constant.
    """

    bump: Bump
    linear: Floats32  # (d,)
    amplitude: np.float32
    constant: np.float32
    fixed: Floats32  # (d, m) the inducing rows, each column weighted

    def between(self, x: Floats32) -> Floats32:
        """Of tiles of states (t, T, d): (t, T, m)."""
        near = self.bump(x)
        near += multiply(x, self.fixed)
        near += self.constant
        return near

    def own(self, x: Floats32) -> Floats32:
        """Of every state with itself."""
        return self.amplitude + (np.square(x) * self.linear).sum(axis=-1) + self.constant


@dataclass(frozen=True, eq=False)
class GainCovariance:
    """The kernel, its inducing rows, and what the rows have settled."""

    alone: ClassVar[float] = 0.45  # η

    kernel: Mapping[str, Floats32]  # logarithms of its parameters, by name
    x: Floats32  # (m, d)
    z: Floats32  # (m, K)
    factor: Floats32  # F (m, r)
    scaling: Scaling
    misfit: float | None = None  # δ², in units of scaled shares and outcome; None: η² v
    share: float = 1.0  # a
    # What gains are relative to, where outcomes differ in size.
    level: OutcomeLevel | None = None

    def covariance(self, x: Floats32, shares: Floats) -> Floats:
        """V of states (n, d) at shares (n, K), in units of the outcome and of shares: (n, K, K)."""
        z = self.scaling.shares(shares)
        along = in_tiles(self._along_moves, np.asarray(x, np.float32), z)  # (n, D, D)
        spread = self._spread
        total = np.zeros((len(x), *spread.shape[2:]))
        for i in range(len(spread)):
            for j in range(len(spread)):
                total += along[:, i, j, None, None] * spread[i, j]
        if self.level is not None:
            total *= np.square(self.level(x))[:, None, None]
        return total

    def _along_moves(self, x: Floats32, z: Floats32) -> Floats32:
        """V along orthonormal directions of moves, of tiles of states and places: (t, T, D, D)."""
        phi = multiply(self._slopes(x, z), self._settling)  # (t, D, T, r)
        variance = self._slope.own(x) + self._curve.own(x) * self._reach
        own_misfit = variance * self.alone**2 if self.misfit is None else self.misfit
        prior = (self.share * variance + own_misfit).astype(np.float32, copy=False)
        metric = self._directions.T @ self._directions
        D = len(metric)
        covariance = np.empty((*z.shape[:2], D, D), np.float32)
        for k in range(D):
            for l in range(k + 1):
                settled = (phi[:, k] * phi[:, l]).sum(axis=-1)
                covariance[..., k, l] = prior * metric[k, l] - settled
                covariance[..., l, k] = covariance[..., k, l]
        return covariance

    def _slopes(self, x: Floats32, z: Floats32) -> Floats32:
        """Slopes of the kernel along directions, of tiles of states and places: (t, D, T, m)."""
        bumps = self._curve.between(x)
        bumps *= self._shares_bump(z)
        both = self._slope.between(x)
        both += bumps
        own = multiply(z, self._directions)
        slopes = np.empty((len(x), own.shape[-1], *both.shape[1:]), np.float32)
        for k, inducing in enumerate(self._inducing_along):
            np.multiply(both, inducing, out=slopes[:, k])
            slopes[:, k] -= bumps * own[..., k, None]
        return slopes

    @cached_property
    def _settling(self) -> Floats32:
        """√a F."""
        return self.factor * np.float32(self.share**0.5)

    @cached_property
    def _slope(self) -> Context:
        return self._context("slope")

    @cached_property
    def _curve(self) -> Context:
        return self._context("curve")

    def _context(self, part: str) -> Context:
        amplitude = self.kernel[f"amplitude.{part}"]
        linear = np.exp(self.kernel[f"linear.{part}"])
        return Context(
            bump=make_bump(
                np.exp(-self.kernel[f"length.{part}"]), float(amplitude), self.x
            ),
            linear=linear,
            amplitude=np.float32(np.exp(amplitude)),
            constant=np.float32(np.exp(self.kernel[f"constant.{part}"])),
            fixed=np.ascontiguousarray((self.x * linear).T),
        )

    @cached_property
    def _reach(self) -> np.float32:
        """1/ζ²."""
        return np.float32(np.exp(-2 * self.kernel["reach"]))

    @cached_property
    def _directions(self) -> Floats32:
        """What moves along orthonormal directions are in scaled shares, (K, D)."""
        basis = tangent_basis(self.z.shape[1])
        return (self.scaling.inverse[:, None] * basis).astype(np.float32)

    @cached_property
    def _spread(self) -> Floats:
        """What makes V in shares of V along moves, (D, D, K, K)."""
        Q = tangent_basis(self.z.shape[1])
        return np.einsum("ki,lj->ijkl", Q, Q) * self.scaling.outcome**2

    @cached_property
    def _inducing_along(self) -> Floats32:
        return np.ascontiguousarray((self.z @ self._directions).T)

    @cached_property
    def _shares_bump(self) -> Bump:
        scale = np.full(self.z.shape[1], np.sqrt(self._reach), np.float32)
        return make_bump(scale, float(np.log(self._reach)), self.z)
