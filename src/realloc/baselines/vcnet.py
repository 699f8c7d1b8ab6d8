"""VCNet: varying coefficients with targeted regularisation (Nie et al., ICLR 2021), for K shares.

f(x, p) = v(p)ᵀ σ(U(p)ᵀ h(x)),   U(p) = Σ_b ψ_b(p) U_b,   v(p) = Σ_b ψ_b(p) v_b
loss = (y − f)² − α log π(p|x) + β (y − f − ε(p) / π(p|x))²

h is the backbone's last hidden layer. The paper's spline ψ of one dose becomes an additive and
pairwise basis: 1, per channel a quadratic truncated power spline with two knots, and the products
of two channels; no tensor product, so it grows with K² only. π is, as in the paper, a softmax over
bins of the dose on h, one per channel and their product; bins lie at quantiles and π is relative to
their frequency, so that the weights 1/π are stabilised. ε is linear in ψ.
"""

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor, nn

from realloc.base.validation import check_range
from realloc.baselines.backbone import Backbone, BackboneSurface, NetworkPolicy, ScaledRows
from realloc.baselines.response import Task
from realloc.learn.networks.train import Loss

BINS = 10  # of the density, per channel
LEAST = 0.1  # the smallest relative density that is divided by
KNOTS = (1 / 3, 2 / 3)
HIDDEN = 32  # of the head


@dataclass(frozen=True, kw_only=True)
class VCNetConfig(Backbone):
    """The backbone and the weights of the loss."""

    density: float = 0.5  # α
    targeted: float = 0.5  # β

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, ("density", "targeted"), ">= 0", "VCNet")


class Varying(BackboneSurface):
    """f, with the heads of π and ε that only the loss needs."""

    knots: Tensor
    edges: Tensor
    frequency: Tensor

    def __init__(self, rows: ScaledRows, settings: Backbone, seed: int) -> None:
        super().__init__(rows, settings, seed)
        M = self.members
        K = self.channels
        W = settings.width
        generator = torch.Generator().manual_seed(seed + 1)
        self.pairs = list(combinations(range(K), 2))
        size = 1 + (2 + len(KNOTS)) * K + len(self.pairs)
        # its outputs are the logits of π
        self.body = settings.stack(self.states, K * BINS, seed)
        normal = torch.randn(M, W, size * HIDDEN, generator=generator)
        self.first = nn.Parameter(normal * (2 / W / size) ** 0.5)
        self.second = nn.Parameter(torch.zeros(M, HIDDEN, size))
        self.epsilon = nn.Parameter(torch.zeros(M, size, 1))
        # (2, K)
        self.register_buffer("knots", torch.quantile(rows.z, torch.tensor(KNOTS), dim=0))
        edges = torch.quantile(rows.z, torch.arange(1, BINS) / BINS, dim=0)
        self.register_buffer("edges", edges.T.contiguous())
        bins = nn.functional.one_hot(self.bins(rows.z), BINS)
        self.register_buffer("frequency", bins.float().mean(0).clamp(min=1e-3))  # (K, BINS)

    def basis(self, z: Tensor) -> Tensor:
        """ψ at z (…, K): (…, size)."""
        above = [(z - knot).clamp(min=0).square() for knot in self.knots]
        products = [z[..., k : k + 1] * z[..., l : l + 1] for k, l in self.pairs]
        return torch.cat(
            [torch.ones_like(z[..., :1]), z, z.square(), *above, *products], dim=-1
        )

    def bins(self, z: Tensor) -> Tensor:
        """The bin of every share (…, K)."""
        return (z.unsqueeze(-1) > self.edges).sum(-1)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """f."""
        return self.head(self.body.hidden(x), self.basis(z))

    def head(self, h: Tensor, psi: Tensor) -> Tensor:
        """f of representations (M, n, W) and bases (M, n, q, size): (M, n, q)."""
        M, n, _, size = psi.shape
        coefficients = (h @ self.first).view(M, n, size, HIDDEN)
        lifted = self.body.activate(psi @ coefficients)  # (M, n, q, HIDDEN)
        return ((lifted @ self.second.unsqueeze(1)) * psi).sum(-1)

    def log_density(self, x: Tensor, z: Tensor) -> Tensor:
        """log π at rows x (M, b, d), z (M, b, K), relative to the bins' frequency: (M, b)."""
        relative = self.body(x).view(*z.shape, BINS).log_softmax(-1) - self.frequency.log()
        return relative.gather(-1, self.bins(z).unsqueeze(-1))[..., 0].sum(-1)


def vcnet_loss(
    surface: Varying, rows: ScaledRows, index: Tensor, settings: VCNetConfig
) -> Tensor:
    """The loss of every member on its rows (M, b): (M,); of held-out rows the first term alone."""
    x = rows.x[index]
    z = rows.z[index]
    psi = surface.basis(z)
    off = rows.y[index] - surface.head(surface.body.hidden(x), psi.unsqueeze(2))[..., 0]
    if not torch.is_grad_enabled():
        return off.square().mean(1)
    log_density = surface.log_density(x, z)
    weight = 1 / log_density.detach().exp().clamp(min=LEAST)
    targeted = (off - (psi @ surface.epsilon)[..., 0] * weight).square()
    return (
        off.square() - settings.density * log_density + settings.targeted * targeted
    ).mean(1)


class VCNet(NetworkPolicy[VCNetConfig, Varying]):
    """Varying coefficient network."""

    surface = Varying
    defaults = VCNetConfig()

    def loss(self, surface: Varying, rows: ScaledRows, task: Task) -> Loss:
        """The three terms together."""
        return lambda index: vcnet_loss(surface, rows, index, self.settings)
