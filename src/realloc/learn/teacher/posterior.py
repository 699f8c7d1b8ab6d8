"""From a fitted kernel surface to the covariance of gains.

What the rows have settled, and how to keep it small.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.linalg import LinAlgError
from torch import Tensor

from realloc.base.simplex import tangent_basis
from realloc.learn.teacher.covariance import GainCovariance
from realloc.learn.teacher.factor import cholesky, eigh
from realloc.learn.teacher.kernel import Kernel
from realloc.learn.teacher.sample import TensorScaling

LEFT_OUT = 3e-2  # of σ̂² at most, at every inducing row


@dataclass(frozen=True)
class KernelParts:
    """What a fitted kernel surface leaves behind: inducing rows, what whitens them, Σφφᵀ and σ²."""

    kernel: Kernel
    x: Tensor  # (m, d)
    z: Tensor  # (m, K)
    whiten: Tensor
    gram: Tensor  # (m, m)
    noise: float


def fit_covariance(parts: KernelParts, scaling: TensorScaling) -> GainCovariance:
    """From a fitted kernel surface, with all of F."""
    gram = parts.gram.to(torch.float64, copy=True)
    gram.diagonal().add_(parts.noise)
    inverse = torch.cholesky_inverse(cholesky(gram))
    settled = torch.eye(len(gram), dtype=torch.float64) - parts.noise * inverse
    factor = parts.whiten.T.double() @ square_root(settled)
    kernel = {
        name: np.array(values.numpy()) for name, values in parts.kernel.state_dict().items()
    }
    return GainCovariance(
        kernel=kernel,
        x=np.array(parts.x.numpy()),
        z=np.array(parts.z.numpy()),
        factor=np.array(factor.float().numpy()),
        scaling=scaling.numpy(),
    )


def square_root(matrix: Tensor) -> Tensor:
    """R with R Rᵀ = matrix."""
    root, failed = torch.linalg.cholesky_ex(matrix)
    if not int(failed):
        return root
    # some directions are settled by nothing, up to float error
    values, vectors = eigh(matrix)
    return vectors * values.clamp_min(0).sqrt()


def to_kernel(covariance: GainCovariance) -> Kernel:
    """The kernel, for a search that goes on from its lengths."""
    kernel = Kernel(covariance.x.shape[1])
    kernel.load_state_dict(
        {
            name: torch.from_numpy(values.copy())
            for name, values in covariance.kernel.items()
        }
    )
    return kernel.requires_grad_(False)


@torch.no_grad()
def slim(covariance: GainCovariance) -> GainCovariance:
    """With those directions of F alone that settle anything at the inducing rows, along moves."""
    kernel = to_kernel(covariance)
    x = torch.from_numpy(covariance.x)
    z = torch.from_numpy(covariance.z)
    factor = torch.from_numpy(covariance.factor)
    K = z.shape[1]
    basis = torch.from_numpy(np.array(tangent_basis(K), dtype=np.float32))
    along = torch.from_numpy(covariance.scaling.inverse)[:, None] * basis  # (K, D)
    slopes = kernel.slope_features(x, z, x, z)
    moves = [
        sum((along[k, d] * slopes[k] for k in range(1, K)), start=along[0, d] * slopes[0])
        for d in range(K - 1)
    ]
    phi = torch.cat(moves) @ factor  # (D·m, m)
    try:
        _, axes = eigh(phi.T @ phi)  # what settles least comes first
    except LinAlgError:
        return covariance  # larger, and as good
    taken = (phi @ axes).square() * covariance.share
    variance = kernel.slope_variance(x)
    misfit = (
        variance * covariance.alone**2 if covariance.misfit is None else covariance.misfit
    )
    prior = (
        along.square().sum(0)[:, None] * (covariance.share * variance + misfit)
    ).flatten()
    # V at every inducing row, along every move
    left = (prior - taken.sum(1)).clamp_min(1e-6 * prior)
    worst = (taken.cumsum(1) / left[:, None]).amax(
        0
    )  # if all directions up to here are left out
    kept = axes[:, int((worst <= LEFT_OUT).sum()) :]
    return replace(covariance, factor=np.array((factor @ kept).numpy()))
