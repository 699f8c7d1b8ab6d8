"""GIKS: gradient interpolation and kernel smoothing, extended to K shares.

Nagalapatti et al., AAAI 2024.

f(x, p) is a network on a representation φ(x) and the shares. Beside the factual loss it learns from
two kinds of shares that a row did not have. Near ones, p' = (1 − s) p + s d with d uniform on the
simplex, are given the label y + ⟨∇_p f(x, p), p' − p⟩, its gradient held fixed. Far ones, the
shares of another row of the batch, are given the mean of a Gaussian process on (φ, p) over rows of
the batch, and weigh the less the larger its variance.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from realloc.base.errors import ConfigError
from realloc.baselines.backbone import (
    Backbone,
    BackboneSurface,
    NetworkPolicy,
    ScaledRows,
    join,
)
from realloc.baselines.response import Task
from realloc.learn.networks.train import Loss

KNOWN = 128  # rows of a batch that the process knows; up to as many others are asked about
NOISE = 0.5  # variance of a scaled outcome that the process does not explain


@dataclass(frozen=True, kw_only=True)
class GIKSConfig(Backbone):
    """The backbone and the weights of the loss."""

    interpolation: float = 0.5
    smoothing: float = 0.1
    near: float = 0.2  # largest part s of the way to another mix

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.interpolation, self.smoothing) < 0 or not 0 < self.near <= 1:
            raise ConfigError(
                "Expected `interpolation` and `smoothing` of at least 0 and `near` in (0, 1]."
            )


class Represented(BackboneSurface):
    """f(φ(x), z)."""

    def __init__(self, rows: ScaledRows, settings: Backbone, seed: int) -> None:
        super().__init__(rows, settings, seed)
        self.body = settings.stack(self.states, 1, seed)
        self.network = settings.stack(settings.width + self.channels, 1, seed + 1)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """f."""
        return self.head(self.body.hidden(x), z)

    def head(self, phi: Tensor, z: Tensor) -> Tensor:
        """f at representations (M, n, W) and z (M, n, q, K): (M, n, q)."""
        return join(self.network, phi, z)


@dataclass(frozen=True)
class GIKSLoss:
    """The three terms; held-out rows are judged by the first alone."""

    surface: Represented
    rows: ScaledRows
    settings: GIKSConfig
    generator: torch.Generator

    def __call__(self, index: Tensor) -> Tensor:
        """Of every member on its rows (M, b): (M,)."""
        x = self.rows.x[index]
        z = self.rows.z[index]
        y = self.rows.y[index]
        if not torch.is_grad_enabled():
            return (self.surface(x, z.unsqueeze(2))[..., 0] - y).square().mean(1)
        z.requires_grad_()
        phi = self.surface.body.hidden(x)
        near = self.near(z.detach())
        f = self.surface.head(phi, torch.stack([z, near], dim=2))  # (M, b, 2)
        slopes = torch.autograd.grad(f[..., 0].sum(), z, retain_graph=True)[0]
        label = y + (slopes * (near - z.detach())).sum(-1)
        factual = (f[..., 0] - y).square().mean(1)
        interpolated = (f[..., 1] - label).square().mean(1)
        loss = factual + self.settings.interpolation * interpolated
        return loss + self.settings.smoothing * self.smooth(phi, z.detach(), y)

    def near(self, z: Tensor) -> Tensor:
        """Shares on the way from z to a random mix, scaled."""
        mix = -torch.rand(z.shape, generator=self.generator).clamp(min=1e-12).log()
        part = self.settings.near * torch.rand(
            z.shape[:-1], generator=self.generator
        ).unsqueeze(-1)
        return z + part * (self.rows.scaling.shares(mix / mix.sum(-1, keepdim=True)) - z)

    def smooth(self, phi: Tensor, z: Tensor, y: Tensor) -> Tensor:
        """Squared distance of f at other rows' shares to the process, weighed by its precision."""
        count = min(KNOWN, z.shape[1] // 2)
        known = phi[:, :count]
        other = phi[:, count : 2 * count]
        at = z[:, :count]
        to = z.roll(1, dims=1)[:, count : 2 * count]
        with torch.no_grad():
            within = kernel(known, at, known, at)
            across = kernel(other, to, known, at)
            mean, variance = predict(within, across, y[:, :count])
        off = self.surface.head(other, to.unsqueeze(2))[..., 0] - mean
        return (off.square() * (1 - variance)).mean(1)


def kernel(phi: Tensor, z: Tensor, other_phi: Tensor, other_z: Tensor) -> Tensor:
    """A squared exponential of the distances of representations and of shares, (M, a, b)."""
    W = phi.shape[-1]
    K = z.shape[-1]
    apart = torch.cdist(phi, other_phi).square() / W + torch.cdist(z, other_z).square() / K
    return torch.exp(-apart / 2)


def predict(within: Tensor, across: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance (M, a) of a Gaussian process of variance 1.

    From its kernels among known rows (M, b, b) and to them (M, a, b), and outcomes (M, b).
    """
    factor = torch.linalg.cholesky(within + NOISE * torch.eye(within.shape[-1]))
    mean = across @ torch.cholesky_solve(y.unsqueeze(-1), factor)
    left = torch.linalg.solve_triangular(factor, across.transpose(1, 2), upper=False)
    return mean[..., 0], (1 - left.square().sum(1)).clamp(0, 1)


class GIKS(NetworkPolicy[GIKSConfig, Represented]):
    """Learning from shares that rows did not have."""

    surface = Represented
    defaults = GIKSConfig()

    def loss(self, surface: Represented, rows: ScaledRows, task: Task) -> Loss:
        """Factual, near and far."""
        generator = torch.Generator().manual_seed(task.seed)
        return GIKSLoss(surface, rows, self.settings, generator)
