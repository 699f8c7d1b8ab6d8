"""ContextOnly: y ≈ b(x) + ⟨τ(x), p⟩ by squared error, without orthogonalisation.

The state alone decides the slopes.
"""

from torch import Tensor

from realloc.baselines.backbone import Backbone, BackboneSurface, NetworkPolicy, ScaledRows


class Linear(BackboneSurface):
    """b(x) + ⟨τ(x), z⟩ of one network of the state."""

    def __init__(self, rows: ScaledRows, settings: Backbone, seed: int) -> None:
        super().__init__(rows, settings, seed)
        self.network = settings.stack(self.states, self.channels + 1, seed)

    def slopes(self, x: Tensor) -> Tensor:
        """τ of states (M, n, d): (M, n, K)."""
        return self.network(x)[..., 1:]

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """f."""
        out = self.network(x).unsqueeze(2)  # (M, n, 1, 1+K)
        return out[..., 0] + (out[..., 1:] * z).sum(-1)


class ContextOnly(NetworkPolicy[Backbone, Linear]):
    """A field of the state alone."""

    surface = Linear
    defaults = Backbone()
