"""A Gaussian-process surface whose parts are the paper's.

What the state explains, and what the shares add to it.

k((x,z),(x',z')) = b(x,x') + ⟨z,z'⟩ l(x,x') + exp(−‖z−z'‖²/2ζ²) q(x,x')

b is the baseline, l slopes that change with the state, q curvature that changes with it; z are
shares centred and scaled per channel. Each of b, l, q is a squared-exponential kernel with one
length per feature, plus a linear and a constant one. A length per feature is what makes it work:
most features matter for one part only, and the likelihood finds out which.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

PARTS = ("baseline", "slope", "curve")
AMPLITUDE = {
    "baseline": -0.5,
    "slope": -2.5,
    "curve": -4.0,
}  # log variances to start from; outcomes have variance 1
# logarithms to start from
LENGTH = 1.6
LINEAR = -4.5
REACH = 0.3
NOISE = -0.3
# Chosen for so many channels; more of them share what moves are worth and lie further apart.
CHANNELS = 3


class Kernel(nn.Module):
    """The covariance function; all parameters are logarithms."""

    def __init__(self, features: int, channels: int = CHANNELS) -> None:
        super().__init__()
        more = math.log(max(channels, CHANNELS) / CHANNELS)
        less = {"baseline": 0.0, "slope": more, "curve": 0.0}
        self.length = _each(lambda _: torch.full((features,), LENGTH))
        self.linear = _each(lambda part: torch.full((features,), LINEAR - less[part]))
        self.amplitude = _each(lambda part: torch.tensor(AMPLITUDE[part] - less[part]))
        self.constant = _each(lambda part: torch.tensor(AMPLITUDE[part] - less[part] - 0.5))
        self.reach = nn.Parameter(torch.tensor(REACH + more / 2))  # ζ
        self.noise = nn.Parameter(torch.tensor(NOISE))

    def context(self, part: str, x: Tensor, other: Tensor) -> Tensor:
        """b, l or q between states (n, d) and (m, d): (n, m)."""
        scale = torch.exp(-self.length[part])
        near = self.amplitude[part].exp() * torch.exp(
            -0.5 * squared_distances(x * scale, other * scale)
        )
        return near + (x * self.linear[part].exp()) @ other.T + self.constant[part].exp()

    def effect(self, contexts: tuple[Tensor, Tensor], z: Tensor, other: Tensor) -> Tensor:
        """The shares' part ⟨z,z'⟩ l + exp(·) q, given l and q of the states (n, m)."""
        slope, curve = contexts
        scale = torch.exp(-self.reach)
        return (z @ other.T) * slope + torch.exp(
            -0.5 * squared_distances(z * scale, other * scale)
        ) * curve

    def effect_slopes(
        self, contexts: tuple[Tensor, Tensor], z: Tensor, other: Tensor, weights: Tensor
    ) -> Tensor:
        """∇_z of effect @ weights (m, M), exactly: (M, n, K)."""
        found = [part @ weights for part in self._slopes(contexts, z, other)]
        return torch.stack(found, dim=-1).transpose(0, 1)

    def slope_features(
        self, x: Tensor, z: Tensor, other_x: Tensor, other: Tensor
    ) -> list[Tensor]:
        """∂k/∂z_k between rows and others, (n, m) for each of the K channels."""
        contexts = self.context("slope", x, other_x), self.context("curve", x, other_x)
        return list(self._slopes(contexts, z, other))

    def slope_variance(self, x: Tensor) -> Tensor:
        """Prior variance of a slope ∂f/∂z_k at states (n, d): l(x, x) + q(x, x)/ζ²."""
        return self._own("slope", x) + self._own("curve", x) * torch.exp(-2 * self.reach)

    def _slopes(
        self, contexts: tuple[Tensor, Tensor], z: Tensor, other: Tensor
    ) -> Iterator[Tensor]:
        slope, curve = contexts
        scale = torch.exp(-2 * self.reach)
        bumps = curve * torch.exp(-0.5 * squared_distances(z, other) * scale)  # (n, m)
        for k in range(z.shape[1]):  # channels are few, and (n, m, K) would not fit
            yield slope * other[:, k] + bumps * ((other[:, k] - z[:, k, None]) * scale)

    def _own(self, part: str, x: Tensor) -> Tensor:
        linear = (x.square() * self.linear[part].exp()).sum(1)
        return self.amplitude[part].exp() + linear + self.constant[part].exp()

    def forward(self, x: Tensor, z: Tensor, other_x: Tensor, other_z: Tensor) -> Tensor:
        """k, (n, m)."""
        contexts = self.context("slope", x, other_x), self.context("curve", x, other_x)
        return self.context("baseline", x, other_x) + self.effect(contexts, z, other_z)


def _each(make: Callable[[str], Tensor]) -> nn.ParameterDict:
    return nn.ParameterDict({part: nn.Parameter(make(part)) for part in PARTS})


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """‖a − b‖² of rows (n, d) and (m, d): (n, m)."""
    return (a.square().sum(1)[:, None] + b.square().sum(1) - 2 * a @ b.T).clamp_min(0)
