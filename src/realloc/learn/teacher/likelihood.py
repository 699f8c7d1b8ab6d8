"""How likely a kernel makes a block of rows, and the slope in every parameter, written down.

L = [½ yᵀC⁻¹y + ½ log|C|] / n,  C = K + σ²I,  ∂L/∂C = ½ (C⁻¹ − C⁻¹y yᵀC⁻¹) / n

Differentiating the Cholesky factor and every step of the kernel instead takes twice as long.
"""

from dataclasses import dataclass

import torch
from numpy.linalg import LinAlgError
from torch import Tensor

from realloc.learn.teacher.factor import cholesky, factor_once
from realloc.learn.teacher.kernel import PARTS, Kernel, squared_distances

LEAST_NOISE = 1e-4


@dataclass(frozen=True)
class Likelihood:
    """−log N(y; 0, C) per row without its constant, and its gradient by a parameter's name."""

    value: float
    gradient: dict[str, Tensor]


@dataclass(frozen=True)
class BlockCovariance:
    """C of a block of n rows, and what it is made of, all (n, n)."""

    total: Tensor
    near: dict[str, Tensor]  # the squared-exponential part of b, l and q
    curve: Tensor  # q
    inner: Tensor  # ⟨z, z'⟩
    apart: Tensor  # ‖z − z'‖²/ζ²
    bumps: Tensor  # exp(−‖z − z'‖²/2ζ²)


@torch.no_grad()
def likelihood(kernel: Kernel, x: Tensor, z: Tensor, y: Tensor) -> Likelihood:
    """Of outcomes y (n,) at states x (n, d) and scaled shares z (n, K).

    In double precision where single does not do.
    """
    try:
        block = open_block(kernel, x, z)
        factor = factor_once(block.total)
    except LinAlgError:
        x = x.double()
        z = z.double()
        block = open_block(kernel, x, z)
        factor = cholesky(block.total)
    y = y.to(factor.dtype)
    fit = torch.cholesky_solve(y[:, None], factor)[:, 0]
    value = (0.5 * (y @ fit) + factor.diagonal().log().sum()) / len(y)
    slope = torch.cholesky_inverse(factor).addr_(fit, fit, alpha=-1).mul_(0.5 / len(y))
    return Likelihood(float(value), _gradient(kernel, x, block, slope))


def open_block(kernel: Kernel, x: Tensor, z: Tensor) -> BlockCovariance:
    """C at states (n, d) and scaled shares (n, K)."""
    near: dict[str, Tensor] = {}
    contexts: dict[str, Tensor] = {}
    for part in PARTS:
        scaled = x * torch.exp(-kernel.length[part])
        close = squared_distances(scaled, scaled).mul_(-0.5).exp_()
        near[part] = close.mul_(kernel.amplitude[part].exp())
        linear = torch.addmm(near[part], x * kernel.linear[part].exp(), x.T)
        contexts[part] = linear.add_(kernel.constant[part].exp())
    scaled = z * torch.exp(-kernel.reach)
    inner = z @ z.T
    apart = squared_distances(scaled, scaled)
    bumps = torch.exp(-0.5 * apart)
    total = contexts["baseline"].addcmul_(inner, contexts["slope"])
    total.addcmul_(bumps, contexts["curve"])
    total.diagonal().add_(kernel.noise.exp() + LEAST_NOISE)
    return BlockCovariance(total, near, contexts["curve"], inner, apart, bumps)


def _gradient(
    kernel: Kernel, x: Tensor, block: BlockCovariance, slope: Tensor
) -> dict[str, Tensor]:
    """Of every parameter, from ∂L/∂C (n, n)."""
    curve = slope * block.bumps
    # ∂L by b, l and q
    slopes = {"baseline": slope, "slope": slope * block.inner, "curve": curve}
    found = {
        "noise": kernel.noise.exp() * slope.trace(),
        "reach": (curve * block.curve).mul_(block.apart).sum(),
    }
    for part, own in slopes.items():
        found[f"constant.{part}"] = kernel.constant[part].exp() * own.sum()
        found[f"linear.{part}"] = kernel.linear[part].exp() * (x * (own @ x)).sum(0)
        near = own * block.near[part]
        rows = near.sum(1)
        found[f"amplitude.{part}"] = rows.sum()
        # Σ near (x − x')² of every feature, for near is symmetric
        spread = 2 * (rows @ x.square() - (x * (near @ x)).sum(0))
        found[f"length.{part}"] = torch.exp(-2 * kernel.length[part]) * spread
    return {name: values.to(torch.float32) for name, values in found.items()}
