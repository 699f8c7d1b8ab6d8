"""Rivals of the learned field: an ensemble of S-learners with smooth activations, and the
R-learner.

In `field_quality.py` the S-learner ensemble is the teacher's factual surface alone: the same
network, members and settings.

They have the same number of members, the same folds for early stopping and the same encoder as the
teacher, the R-learner also its nuisances. Their width, epochs and weight decay are the best of the
grid in `field_quality.py --tune` by held-out error (the R-learner's within .006 of the best of
.656, and half as slow), as our own settings were chosen on the same seeds.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realloc.learn.networks.stack import Shape, Stack
from realloc.learn.networks.train import TrainConfig, TrainSplit, train
from realloc.learn.teacher.sample import TeacherSample


@dataclass(frozen=True, kw_only=True)
class RivalConfig:
    width: int = 64
    epochs: int = 20
    weight_decay: float = 1.5
    rate: float = 1e-2
    members: int = 5

    def training(self) -> TrainConfig:
        return TrainConfig(
            epochs=self.epochs,
            rate=self.rate,
            weight_decay=self.weight_decay,
            batch=512,
            patience=self.epochs,
        )


@dataclass(frozen=True)
class Rival:
    """Members' potentials and fields, in units of the outcome."""

    network: Stack
    sample: TeacherSample
    linear: bool  # R-learner: τ(x)·p; else f(x, p)
    held_out: float

    def value(self, x: Tensor, shares: Tensor) -> Tensor:
        """(n, q) at shares (n, q, K): the mean of the members."""
        scaling = self.sample.scaling
        z = scaling.shares(shares)
        if self.linear:
            tau = self.network(_all(x, self.network.members)).mean(0)
            return (tau[:, None] * z).sum(-1) * scaling.outcome
        wide = torch.cat([x[:, None].expand(-1, z.shape[1], -1), z], dim=-1)
        found = self.network(_all(wide.flatten(0, 1), self.network.members)).mean(0)
        return found.view(z.shape[:2]) * scaling.outcome

    def field(
        self, x: NDArray[np.float32], shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """P₀∇ of the mean potential at shares (n, K)."""
        places = torch.from_numpy(np.array(shares, dtype=np.float32))[
            :, None
        ].requires_grad_()
        slopes = torch.autograd.grad(
            self.value(torch.from_numpy(np.array(x)), places).sum(), places
        )[0][:, 0]
        return (slopes - slopes.mean(-1, keepdim=True)).double().numpy()


def fit_s_learner(sample: TeacherSample, config: RivalConfig, seed: int) -> Rival:
    """y ≈ f(x, p), squared error."""
    inputs = torch.cat([sample.x, sample.z], dim=1)
    network = Stack(
        config.members, Shape(inputs=inputs.shape[1], outputs=1, width=config.width), seed
    )

    def loss(rows: Tensor) -> Tensor:
        return (network(inputs[rows])[..., 0] - sample.y[rows]).square().mean(1)

    best = train(network, loss, _split(sample, config.members), config.training(), seed)
    return Rival(network, sample, False, float(best.mean()) * sample.scaling.outcome**2)


def fit_r_learner(sample: TeacherSample, config: RivalConfig, seed: int) -> Rival:
    """y − m ≈ ⟨τ(x), p − e⟩, squared error: the paper's R-Learner."""
    network = Stack(
        config.members,
        Shape(inputs=sample.x.shape[1], outputs=sample.z.shape[1], width=config.width),
        seed,
    )

    def loss(rows: Tensor) -> Tensor:
        linear = (network(sample.x[rows]) * (sample.z[rows] - sample.e[rows])).sum(-1)
        return (sample.y[rows] - sample.m[rows] - linear).square().mean(1)

    best = train(network, loss, _split(sample, config.members), config.training(), seed)
    return Rival(network, sample, True, float(best.mean()) * sample.scaling.outcome**2)


def _split(sample: TeacherSample, members: int) -> TrainSplit:
    held = [i % sample.count for i in range(members)]
    return TrainSplit(
        [torch.where(sample.folds != f)[0] for f in held],
        [torch.where(sample.folds == f)[0] for f in held],
    )


def _all(values: Tensor, members: int) -> Tensor:
    return values.expand(members, *values.shape)
