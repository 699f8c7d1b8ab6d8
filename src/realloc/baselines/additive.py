"""AdditiveROI: μ = m₀(x) + Σ_k f_k(x, p_k): every channel for itself, as industry plans budgets.

f_k(x, z_k) = a_k(x) z_k + Σ_j w_kj(x) [σ(v_kj z_k + s_kj(x)) − σ(s_kj(x))]: the branch and trunk of ReAlloc's networks, with
trunk units that look at one channel each. There is no interaction between channels by construction.
"""

import torch
from torch import Tensor

from realloc.baselines.backbone import (
    Backbone,
    BackboneSurface,
    NetworkPolicy,
    NetworkResponse,
    fit_factual,
)
from realloc.baselines.response import Task
from realloc.learn.networks.branch import Branch, BranchAt, BranchShape

UNITS = 16  # of the trunk, per channel


class Additive(BackboneSurface):
    """m₀ and one f_k per channel, from one network of the state."""

    mask: Tensor

    def __init__(self, states: int, channels: int, settings: Backbone, seed: int) -> None:
        super().__init__()
        shape = BranchShape(
            inputs=states, channels=channels, width=settings.width, trunk=UNITS * channels, heads=1
        )
        self.branch = Branch(settings.members, shape, seed)
        self.branch.context = settings.stack(states, sum(self.branch.sizes), seed)
        self.register_buffer("mask", torch.eye(channels).repeat_interleave(UNITS, dim=1))  # (K, W)

    @property
    def members(self) -> int:
        """M."""
        return self.branch.members

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """f."""
        opened = self.branch.open(x)
        apart = BranchAt(opened.directions * self.mask, opened.a, opened.s, opened.w, opened.heads)
        return opened.heads + apart.value(z)


class AdditiveROI(NetworkPolicy):
    """Channels planned one by one."""

    def fit_response(self, task: Task) -> NetworkResponse:
        """Squared error."""
        return fit_factual(Additive, task, self.settings)
