"""How far a learned gain may be off: the posterior covariance of the field, by the Gaussian-process surface.

sd(p → p')² = (p' − p)ᵀ V(x, p) (p' − p),   V = (v + δ²) I − ΦᵀΦ,   Φ (r, K) = Fᵀ · (slopes of the kernel)

Members of an ensemble agree about what none of them has learned. A Gaussian process knows what it has not: v is the prior
variance of a slope, and ΦᵀΦ takes off what the rows have settled, F Fᵀ = Wᵀ [I − σ²(Σφφᵀ + σ²I)⁻¹] W with W that whitens
the inducing rows. Of F only the r directions that settle anything are kept: what is left out makes σ̂² larger, by at most
`LEFT_OUT` of it at every inducing row. δ² stays for what the process itself may be wrong about: how far surfaces of other
kinds disagree with it about moves, or η² v where there is no other. docs/decisions/0006 says how δ and η were chosen.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realloc.base.simplex import Floats, tangent_basis
from realloc.learn.teacher.kernel import Kernel
from realloc.learn.teacher.sample import Scaling

ALONE = 0.45  # η
DISAGREEMENT = 1.6  # δ as a multiple of the surfaces' standard deviation
REACH, MOVES = 0.2, 3000  # longest move about which surfaces are asked, and how many
LEFT_OUT = 3e-2
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
    """The kernel, its inducing rows, and what the rows have settled."""

    kernel: Kernel
    x: Tensor  # (m, d)
    z: Tensor  # (m, K)
    factor: Tensor  # F (m, r)
    scaling: Scaling
    misfit: float | None = None  # δ², in units of scaled shares and outcome; None: η² v

    @torch.no_grad()
    def covariance(self, x: NDArray[np.float32], shares: Floats) -> Floats:
        """V of states (n, d) at shares (n, K), in units of the outcome and of shares: (n, K, K)."""
        parts = [
            self._covariance(
                torch.from_numpy(np.array(x[first : first + CHUNK], dtype=np.float32)),
                self.scaling.shares(
                    torch.from_numpy(np.array(shares[first : first + CHUNK], dtype=np.float32))
                ),
            )
            for first in range(0, max(len(x), 1), CHUNK)
        ]
        scale = self.scaling.inverse.double() * self.scaling.outcome
        return (torch.cat(parts).double() * scale[:, None] * scale).numpy()

    def prior(self, x: Tensor) -> Tensor:
        """v + δ² of states."""
        prior = self.kernel.slope_variance(x)
        return prior * (1 + ALONE**2) if self.misfit is None else prior + self.misfit

    def _covariance(self, x: Tensor, z: Tensor) -> Tensor:
        phi = torch.stack(
            [slopes @ self.factor for slopes in self.kernel.slope_features(x, z, self.x, self.z)],
            dim=1,
        )
        return self.prior(x)[:, None, None] * torch.eye(z.shape[1]) - phi @ phi.transpose(1, 2)


def fit_doubt(parts: KernelParts, scaling: Scaling) -> Doubt:
    """From a fitted kernel surface, with all of F."""
    gram = parts.gram.to(torch.float64, copy=True)
    gram.diagonal().add_(parts.noise)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
    whole = parts.whiten.T.double() @ root_of(
        torch.eye(len(gram), dtype=torch.float64) - parts.noise * inverse
    )
    return Doubt(parts.kernel, parts.x, parts.z, whole.float(), scaling)


def root_of(taken: Tensor) -> Tensor:
    """R with R Rᵀ = taken."""
    found, failed = torch.linalg.cholesky_ex(taken)
    if not int(failed):
        return found
    values, vectors = torch.linalg.eigh(
        taken
    )  # some directions are settled by nothing, up to float error
    return vectors * values.clamp_min(0).sqrt()


@torch.no_grad()
def slim(doubt: Doubt) -> Doubt:
    """With those directions of F alone that take anything off at the inducing rows, along moves."""
    kernel, K = doubt.kernel, doubt.z.shape[1]
    along = doubt.scaling.inverse[:, None] * torch.from_numpy(
        np.array(tangent_basis(K), dtype=np.float32)
    )  # (K, D)
    slopes = kernel.slope_features(doubt.x, doubt.z, doubt.x, doubt.z)
    moves = [
        sum((along[k, d] * slopes[k] for k in range(1, K)), start=along[0, d] * slopes[0])
        for d in range(K - 1)
    ]
    phi = torch.cat(moves) @ doubt.factor  # (D·m, m)
    _, axes = torch.linalg.eigh(phi.T @ phi)  # what settles least comes first
    taken = (phi @ axes).square()
    prior = (along.square().sum(0)[:, None] * doubt.prior(doubt.x)).flatten()
    own = (prior - taken.sum(1)).clamp_min(
        1e-6 * prior
    )  # V at every inducing row, along every move
    worst = (taken.cumsum(1) / own[:, None]).amax(0)  # if all up to here are left out
    kept = axes[:, int((worst <= LEFT_OUT).sum()) :]
    return replace(doubt, factor=(doubt.factor @ kept).contiguous())
