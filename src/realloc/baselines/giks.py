"""GIKS: gradient interpolation and kernel smoothing (Nagalapatti et al., AAAI 2024), extended to K shares.

f(x, p) is a network on a representation φ(x) and the shares. Beside the factual loss it learns from two kinds of shares that a
row did not have. Near ones, p' = (1 − s) p + s d with d uniform on the simplex, are given the label y + ⟨∇_p f(x, p), p' − p⟩,
its gradient held fixed. Far ones, the shares of another row of the batch, are given the mean of a Gaussian process on (φ, p)
over rows of the batch, and weigh the less the larger its variance.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from realloc.base.errors import ConfigError
from realloc.baselines.backbone import (
    Backbone,
    BackboneSurface,
    NetworkPolicy,
    NetworkResponse,
    ScaledRows,
    fit_surface,
    open_rows,
)
from realloc.baselines.response import Task
from realloc.model.config import Config

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

    def __init__(self, states: int, channels: int, settings: Backbone, seed: int) -> None:
        super().__init__()
        self.body = settings.stack(states, 1, seed)
        self.network = settings.stack(settings.width + channels, 1, seed + 1)

    @property
    def members(self) -> int:
        """M."""
        return self.network.members

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """f."""
        return self.head(self.body.hidden(x), z)

    def head(self, phi: Tensor, z: Tensor) -> Tensor:
        """f at representations (M, n, W) and z (M, n, q, K): (M, n, q)."""
        wide = torch.cat([phi.unsqueeze(2).expand(-1, -1, z.shape[2], -1), z], dim=-1)
        return self.network(wide.flatten(1, 2)).view(z.shape[:-1])


@dataclass(frozen=True)
class GIKSLoss:
    """The three terms; held-out rows are judged by the first alone."""

    surface: Represented
    rows: ScaledRows
    settings: GIKSConfig
    generator: torch.Generator

    def __call__(self, index: Tensor) -> Tensor:
        """Of every member on its rows (M, b): (M,)."""
        x, z, y = self.rows.x[index], self.rows.z[index], self.rows.y[index]
        if not torch.is_grad_enabled():
            return (self.surface(x, z.unsqueeze(2))[..., 0] - y).square().mean(1)
        z.requires_grad_()
        phi, near = self.surface.body.hidden(x), self.near(z.detach())
        f = self.surface.head(phi, torch.stack([z, near], dim=2))  # (M, b, 2)
        slopes = torch.autograd.grad(f[..., 0].sum(), z, retain_graph=True)[0]
        label = y + (slopes * (near - z.detach())).sum(-1)
        loss = (f[..., 0] - y).square().mean(1) + self.settings.interpolation * (
            f[..., 1] - label
        ).square().mean(1)
        return loss + self.settings.smoothing * self.smooth(phi, z.detach(), y)

    def near(self, z: Tensor) -> Tensor:
        """Shares on the way from z to a random mix, scaled."""
        mix = -torch.rand(z.shape, generator=self.generator).clamp(min=1e-12).log()
        part = self.settings.near * torch.rand(z.shape[:-1], generator=self.generator).unsqueeze(-1)
        return z + part * (self.rows.scaling.shares(mix / mix.sum(-1, keepdim=True)) - z)

    def smooth(self, phi: Tensor, z: Tensor, y: Tensor) -> Tensor:
        """Squared distance of f at another row's shares to the process, weighed by what that knows: (M,)."""
        count = min(KNOWN, z.shape[1] // 2)
        known, asked = phi[:, :count], phi[:, count : 2 * count]
        at, to = z[:, :count], z.roll(1, dims=1)[:, count : 2 * count]
        with torch.no_grad():
            mean, variance = predict(
                kernel(known, at, known, at), kernel(asked, to, known, at), y[:, :count]
            )
        off = self.surface.head(asked, to.unsqueeze(2))[..., 0] - mean
        return (off.square() * (1 - variance)).mean(1)


def kernel(phi: Tensor, z: Tensor, other_phi: Tensor, other_z: Tensor) -> Tensor:
    """A squared exponential of the distances of representations and of shares, (M, a, b)."""
    W, K = phi.shape[-1], z.shape[-1]
    apart = torch.cdist(phi, other_phi).square() / W + torch.cdist(z, other_z).square() / K
    return torch.exp(-apart / 2)


def predict(within: Tensor, across: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance (M, a) of a Gaussian process of variance 1, from kernels (M, b, b) and (M, a, b), outcomes (M, b)."""
    factor = torch.linalg.cholesky(within + NOISE * torch.eye(within.shape[-1]))
    mean = across @ torch.cholesky_solve(y.unsqueeze(-1), factor)
    left = torch.linalg.solve_triangular(factor, across.transpose(1, 2), upper=False)
    return mean[..., 0], (1 - left.square().sum(1)).clamp(0, 1)


class GIKS(NetworkPolicy):
    """Learning from shares that rows did not have."""

    def __init__(
        self,
        search: str = "ascent",
        config: Config | None = None,
        settings: GIKSConfig | None = None,
    ) -> None:
        self.own = settings or GIKSConfig()
        super().__init__(search, config, self.own)

    def fit_response(self, task: Task) -> NetworkResponse:
        """Factual, near and far."""
        rows = open_rows(task.window)
        surface = Represented(rows.x.shape[1], rows.z.shape[1], self.own, task.seed)
        loss = GIKSLoss(surface, rows, self.own, torch.Generator().manual_seed(task.seed))
        return fit_surface(surface, rows, loss, self.own, task.seed)
