"""AdditiveROI: μ = m₀(x) + Σ_k f_k(x, p_k): every channel for itself, as industry plans budgets.

f_k(x, z_k) = a_k(x) z_k + Σ_j w_kj(x) [σ(v_kj z_k + s_kj(x)) − σ(s_kj(x))]

It is the branch and trunk of ReAlloc's networks, with trunk units that look at one channel each:
channels do not interact by construction.
"""

from dataclasses import replace

import torch
from torch import Tensor

from realloc.baselines.backbone import Backbone, BackboneSurface, NetworkPolicy, ScaledRows
from realloc.learn.networks.branch import Branch, BranchShape

UNITS = 16  # of the trunk, per channel


class Additive(BackboneSurface):
    """m₀ and one f_k per channel, from one network of the state."""

    mask: Tensor

    def __init__(self, rows: ScaledRows, settings: Backbone, seed: int) -> None:
        super().__init__(rows, settings, seed)
        K = self.channels
        shape = BranchShape(
            inputs=self.states, channels=K, width=settings.width, trunk=UNITS * K, heads=1
        )
        self.branch = Branch(settings.members, shape, seed)
        self.branch.context = settings.stack(self.states, sum(self.branch.sizes), seed)
        self.register_buffer("mask", torch.eye(K).repeat_interleave(UNITS, dim=1))  # (K, W)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """f."""
        joint = self.branch.open(x)
        apart = replace(joint, directions=joint.directions * self.mask)
        return joint.heads + apart.value(z)


class AdditiveROI(NetworkPolicy[Backbone, Additive]):
    """Channels planned one by one."""

    surface = Additive
    defaults = Backbone()
