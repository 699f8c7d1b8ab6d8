"""How far a learned gain may be off: the posterior covariance of the field, by the Gaussian-process surface.

sd(p → p')² = (p' − p)ᵀ V(x, p) (p' − p),   V = (v + δ²) I + Φᵀ [σ²(Σφφᵀ + σ²I)⁻¹ − I] Φ

Members of an ensemble agree about what none of them has learned. A Gaussian process knows what it has not: v is the prior
variance of a slope, Φ (m, K) are the slopes of the whitened features, and the bracket takes off what the rows have settled.
δ² stays for what the process itself may be wrong about: how far surfaces of other kinds disagree with it about moves, or η² v
where there is no other. docs/decisions/0006 says how the factor of δ and η were chosen.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realloc.simplex import Floats
from realloc.teacher.kernel import Kernel
from realloc.teacher.sample import Scaling

ALONE = 0.45  # η
DISAGREEMENT = 1.6  # δ as a multiple of the surfaces' standard deviation
REACH, MOVES = 0.2, 3000  # longest move about which surfaces are asked, and how many
CHUNK = 2048


@dataclass(frozen=True)
class KernelParts:
    """What a fitted kernel surface leaves behind: inducing rows, what whitens them, Σφφᵀ (m, m) and σ²."""

    kernel: Kernel
    x: Tensor
    z: Tensor
    whiten: Tensor
    gram: Tensor
    noise: float


@dataclass(frozen=True)
class Doubt:
    """The kernel, its inducing rows, what whitens them, and what the rows have settled."""

    kernel: Kernel
    x: Tensor  # (m, d)
    z: Tensor  # (m, K)
    whiten: Tensor  # (m, m)
    settled: Tensor  # (m, m) σ²(Σφφᵀ + σ²I)⁻¹ − I, at most 0
    scaling: Scaling
    misfit: float | None = None  # δ², in units of scaled shares and outcome; None: η² v

    @torch.no_grad()
    def covariance(self, x: NDArray[np.float32], shares: Floats) -> Floats:
        """V of states (n, d) at shares (n, K), in units of the outcome and of shares: (n, K, K)."""
        parts = [
            self._covariance(
                torch.from_numpy(np.array(x[first : first + CHUNK], dtype=np.float32)),
                self.scaling.shares(torch.from_numpy(np.array(shares[first : first + CHUNK], dtype=np.float32))),
            )
            for first in range(0, max(len(x), 1), CHUNK)
        ]
        scale = self.scaling.inverse.double() * self.scaling.outcome
        return (torch.cat(parts).double() * scale[:, None] * scale).numpy()

    def _covariance(self, x: Tensor, z: Tensor) -> Tensor:
        kernel = self.kernel
        features = torch.stack(kernel.slope_features(x, z, self.x, self.z), dim=1) @ self.whiten.T  # (n, K, m)
        prior = kernel.slope_variance(x)
        prior = prior * (1 + ALONE**2) if self.misfit is None else prior + self.misfit
        settled = (features @ self.settled) @ features.transpose(1, 2)
        return settled + prior[:, None, None] * torch.eye(z.shape[1])


def fit_doubt(parts: KernelParts, scaling: Scaling) -> Doubt:
    """From a fitted kernel surface."""
    gram = parts.gram.to(torch.float64, copy=True)
    gram.diagonal().add_(parts.noise)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
    settled = parts.noise * inverse - torch.eye(len(gram), dtype=torch.float64)
    return Doubt(parts.kernel, parts.x, parts.z, parts.whiten, settled.float(), scaling)
