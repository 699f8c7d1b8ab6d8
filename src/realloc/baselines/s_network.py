"""SNetwork: y ≈ f([x, p]) by squared error, one network on states and shares together.

With one member and ReLU it is the paper's S-NN; with several and SiLU the ensemble of S-learners.
"""

from torch import Tensor

from realloc.baselines.backbone import (
    Backbone,
    BackboneSurface,
    NetworkPolicy,
    ScaledRows,
    join,
)

# A single network needs more decay.
PAPER = Backbone(members=1, activation="relu", weight_decay=1.5)


class Joint(BackboneSurface):
    """f(x, z) of one network."""

    def __init__(self, rows: ScaledRows, settings: Backbone, seed: int) -> None:
        super().__init__(rows, settings, seed)
        self.network = settings.stack(self.states + self.channels, 1, seed)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """f."""
        return join(self.network, x, z)


class SNetwork(NetworkPolicy[Backbone, Joint]):
    """The joint S-learner by networks."""

    surface = Joint
    defaults = Backbone()
