"""The posterior covariance of the field in numpy, as `teacher/doubt.py` computes it with torch.

V = (v + δ²) I − Φᵀ Φ,  Φ (m, K) = (slopes of the kernel) · F,  F Fᵀ = Wᵀ [I − σ²(Σφφᵀ + σ²I)⁻¹] W

What whitens the inducing rows and what the rows have settled is one matrix F here, made once: half the work of a request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.serving.network import Floats32
from realloc.serving.potential import Units
from realloc.serving.tiles import in_tiles
from realloc.simplex import Floats

ALONE = 0.45  # η of `teacher/doubt.py`
PARTS = ("slope", "curve")


@dataclass(frozen=True, eq=False)
class Context:
    """l or q between states: amplitude · exp(−½ distance²) + a linear part + a constant."""

    scale: Floats32  # (d,) one over the length
    linear: Floats32  # (d,)
    amplitude: np.float32
    constant: np.float32

    def between(self, x: Floats32, other: Floats32) -> Floats32:
        """Of tiles of states (t, T, d) and others (m, d): (t, T, m)."""
        near = self.amplitude * np.exp(np.float32(-0.5) * squared_distances(x * self.scale, other * self.scale))
        return (near + (x * self.linear) @ other.T + self.constant).astype(np.float32, copy=False)

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
    factor: Floats32  # F (m, m)
    units: Units
    misfit: float | None

    def covariance(self, x: Floats32, shares: Floats) -> Floats:
        """V of states (n, d) at shares (n, K), in units of the outcome and of shares: (n, K, K)."""
        found = in_tiles(self._covariance, np.asarray(x, np.float32), self.units.shares(shares))
        scale = self.units.inverse.astype(np.float64) * self.units.outcome
        return found.astype(np.float64) * scale[:, None] * scale

    def _covariance(self, x: Floats32, z: Floats32) -> Floats32:
        slope, curve = self.slope.between(x, self.x), self.curve.between(x, self.x)
        bumps = curve * np.exp(np.float32(-0.5) * squared_distances(z, self.z) * self.reach)  # (t, T, m)
        count, T, K = z.shape
        slopes = np.empty((count, K, T, len(self.z)), np.float32)
        for k in range(K):
            np.multiply(bumps, (self.z[:, k] - z[..., k, None]) * self.reach, out=slopes[:, k])
            slopes[:, k] += slope * self.z[:, k]
        # All channels of a tile in one product: the matrix F is the larger part of it.
        phi = (slopes.reshape(count, K * T, -1) @ self.factor).reshape(slopes.shape)
        prior = self.slope.own(x) + self.curve.own(x) * self.reach
        prior = prior * np.float32(1 + ALONE**2) if self.misfit is None else prior + np.float32(self.misfit)
        found = np.empty((*z.shape, K), np.float32)
        for k in range(K):
            for l in range(k + 1):
                settled = (phi[:, k] * phi[:, l]).sum(axis=-1)
                found[..., k, l] = found[..., l, k] = (prior if k == l else 0) - settled
        return found


def factor_of(whiten: NDArray[np.float32], settled: NDArray[np.float32]) -> Floats32:
    """F from what whitens the inducing rows and what the rows have settled (at most 0)."""
    taken = -(settled.astype(np.float64) + settled.T) / 2
    try:
        root = np.linalg.cholesky(taken)
    except np.linalg.LinAlgError:  # some directions are settled by nothing, up to float error
        values, vectors = np.linalg.eigh(taken)
        root = vectors * np.sqrt(np.maximum(values, 0))
    return np.ascontiguousarray(whiten.T.astype(np.float64) @ root, dtype=np.float32)


def read_doubt(arrays: Mapping[str, NDArray[Any]], units: Units, misfit: float | None) -> Doubt:
    """From arrays by the names they are saved under."""
    contexts = {
        part: Context(
            scale=np.exp(-arrays[f"kernel.length.{part}"]),
            linear=np.exp(arrays[f"kernel.linear.{part}"]),
            amplitude=np.float32(np.exp(arrays[f"kernel.amplitude.{part}"])),
            constant=np.float32(np.exp(arrays[f"kernel.constant.{part}"])),
        )
        for part in PARTS
    }
    return Doubt(
        reach=np.float32(np.exp(-2 * arrays["kernel.reach"])),
        x=arrays["doubt.x"],
        z=arrays["doubt.z"],
        factor=arrays["doubt.factor"],
        units=units,
        misfit=misfit,
        **contexts,
    )


def squared_distances(a: Floats32, b: Floats32) -> Floats32:
    """Between tiles of points (t, T, d) and points (m, d): (t, T, m)."""
    cross = np.square(a).sum(axis=-1)[..., None] + np.square(b).sum(axis=-1) - 2 * (a @ b.T)
    return np.maximum(cross, 0, out=cross)
