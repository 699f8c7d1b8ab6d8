"""SNetwork: y ≈ f([x, p]) by squared error, one network on states and shares together.

With one member and ReLU it is the paper's S-NN; with several and SiLU the ensemble of S-learners.
"""

import torch
from torch import Tensor

from realloc.baselines.backbone import Backbone, BackboneSurface, NetworkPolicy, ScaledRows

# A single network needs more decay.
PAPER = Backbone(members=1, activation="relu", weight_decay=1.5)


class Joint(BackboneSurface):
    """f(x, z) of one network."""

    def __init__(self, rows: ScaledRows, settings: Backbone, seed: int) -> None:
        super().__init__(rows, settings, seed)
        self.network = settings.stack(self.states + self.channels, 1, seed)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """f."""
        wide = torch.cat([x.unsqueeze(2).expand(-1, -1, z.shape[2], -1), z], dim=-1)
        return self.network(wide.flatten(1, 2)).view(z.shape[:-1])


class SNetwork(NetworkPolicy[Backbone]):
    """The joint S-learner by networks."""

    surface = Joint
    defaults = Backbone()
