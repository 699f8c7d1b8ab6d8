"""ContextOnly: y ≈ b(x) + ⟨τ(x), p⟩ by squared error: slopes that the state alone decides, without orthogonalisation."""

from torch import Tensor

from realloc.baselines.backbone import (
    Backbone,
    BackboneSurface,
    NetworkPolicy,
    NetworkResponse,
    fit_factual,
)
from realloc.baselines.response import Task


class Linear(BackboneSurface):
    """b(x) + ⟨τ(x), z⟩ of one network of the state."""

    def __init__(self, states: int, channels: int, settings: Backbone, seed: int) -> None:
        super().__init__()
        self.network = settings.stack(states, channels + 1, seed)

    @property
    def members(self) -> int:
        """M."""
        return self.network.members

    def slopes(self, x: Tensor) -> Tensor:
        """τ of states (M, n, d): (M, n, K)."""
        return self.network(x)[..., 1:]

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """f."""
        found = self.network(x).unsqueeze(2)  # (M, n, 1, 1+K)
        return found[..., 0] + (found[..., 1:] * z).sum(-1)


class ContextOnly(NetworkPolicy):
    """A field of the state alone."""

    def fit_response(self, task: Task) -> NetworkResponse:
        """Squared error."""
        return fit_factual(Linear, task, self.settings)
