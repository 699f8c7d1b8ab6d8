"""What all network baselines share: backbone, optimiser, training budget, search without limits.

A surface f(x, z) of M members is learned from standardised shares z and outcomes; member i is
stopped by the units of fold i, which it never learns from. The response is the members' mean.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from realloc.base.simplex import Floats
from realloc.base.validation import check_known, check_range, check_types
from realloc.baselines.lbfgs import Climbable, search_lbfgs
from realloc.baselines.response import ResponsePolicy, States, Task
from realloc.learn.networks.config import TrainConfig
from realloc.learn.networks.stack import ACTIVATIONS, Shape, Stack
from realloc.learn.networks.train import Loss, split_by_fold, train
from realloc.learn.teacher.sample import TensorScaling, as_tensor, scale
from realloc.learn.window import Window

CHUNK = 16_384  # places valued at a time


@dataclass(frozen=True, kw_only=True)
class Backbone(TrainConfig):
    """Three hidden layers with layer norm; decay by held-out error on world seeds 201 and 202."""

    members: int = 5
    activation: str = "silu"  # or relu
    width: int = 64
    epochs: int = 20
    rate: float = 1e-2
    weight_decay: float = 0.5
    patience: int = 1_000_000  # all epochs run; each member keeps its best one
    least_steps: int = 300  # however few the rows

    def __post_init__(self) -> None:
        check_types(self, "the backbone")
        check_known("`activation`", self.activation, ACTIVATIONS, "the backbone")
        check_range(self, ("members", "width"), ">= 1", "the backbone")
        super().__post_init__()

    def stack(self, inputs: int, outputs: int, seed: int) -> Stack:
        """A network of this shape."""
        shape = Shape(
            inputs=inputs, outputs=outputs, width=self.width, activation=self.activation
        )
        return Stack(self.members, shape, seed)


@dataclass(frozen=True)
class ScaledRows:
    """What a surface learns from, standardised."""

    x: Tensor  # states (n, d)
    z: Tensor  # shares (n, K)
    y: Tensor  # outcomes (n,)
    folds: Tensor  # (n,) by unit
    scaling: TensorScaling


def open_rows(window: Window) -> ScaledRows:
    """Standardise a window."""
    scaling = scale(window.shares, window.outcome)
    return ScaledRows(
        x=as_tensor(window.x),
        z=scaling.shares(as_tensor(window.shares)),
        y=as_tensor((window.outcome - window.outcome.mean()) / scaling.outcome),
        folds=as_tensor(window.folds, np.int64),
        scaling=scaling,
    )


class BackboneSurface(nn.Module):
    """M members of f, up to a function of the state; every parameter has a leading member axis."""

    def __init__(self, rows: ScaledRows, settings: Backbone, seed: int) -> None:
        super().__init__()
        self.members = settings.members
        self.states = rows.x.shape[1]
        self.channels = rows.z.shape[1]

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """At states (M, n, d) and scaled shares (M, n, q, K): (M, n, q)."""
        raise NotImplementedError

    def at(self, rows: ScaledRows, index: Tensor) -> Tensor:
        """At logged rows (M, b): (M, b)."""
        return self(rows.x[index], rows.z[index].unsqueeze(2))[..., 0]


@dataclass(frozen=True)
class NetworkResponse:
    """The mean of a surface's members, in units of the outcome."""

    surface: BackboneSurface
    scaling: TensorScaling

    @torch.no_grad()
    def values(self, x: States, shares: Floats) -> Floats:
        """At states (n, d) and shares (n, q, K): (n, q)."""
        return self._chunks(x, shares, self.mean)

    def slopes(self, x: States, shares: Floats) -> Floats:
        """∇_p at shares (n, K): (n, K)."""

        def part(states: Tensor, places: Tensor) -> Tensor:
            places.requires_grad_()
            return torch.autograd.grad(self.mean(states, places).sum(), places)[0]

        return self._chunks(x, shares[:, None], part)[:, 0]

    def mean(self, x: Tensor, p: Tensor) -> Tensor:
        """At states (n, d) and shares (n, q, K), differentiable: (n, q)."""
        M = self.surface.members
        z = self.scaling.shares(p)
        values = self.surface(x.expand(M, *x.shape), z.expand(M, *z.shape))
        return values.mean(0) * self.scaling.outcome

    def _chunks(
        self, x: States, shares: Floats, compute: Callable[[Tensor, Tensor], Tensor]
    ) -> Floats:
        size = max(1, CHUNK // shares.shape[1])
        parts: list[Floats] = []
        for first in range(0, max(len(x), 1), size):
            rows = slice(first, first + size)
            parts.append(compute(as_double(x[rows]), as_double(shares[rows])).numpy())
        return np.concatenate(parts)


Settings = TypeVar("Settings", bound=Backbone)
Surface = TypeVar("Surface", bound=BackboneSurface)


class NetworkPolicy(ResponsePolicy, Generic[Settings, Surface]):
    """A network response; without limits it is searched by L-BFGS."""

    response: NetworkResponse
    surface: type[Surface]
    defaults: Settings
    settings: Settings

    def fit_response(self, task: Task) -> NetworkResponse:
        """Train all members of `surface` at once."""
        rows = open_rows(task.window)
        surface = self.surface(rows, self.settings, task.seed)
        split = split_by_fold(rows.folds, surface.members)
        train(surface, self.loss(surface, rows, task), split, self.settings, task.seed)
        # In double precision from here on: a row's answer must not depend on its batch.
        fixed = surface.requires_grad_(False).double()
        return NetworkResponse(fixed, rows.scaling)

    def loss(self, surface: Surface, rows: ScaledRows, task: Task) -> Loss:
        """What is trained by: squared error, y ≈ f(x, p)."""
        return lambda index: (surface.at(rows, index) - rows.y[index]).square().mean(1)

    def search_anywhere(self, x: States, start: Floats) -> Floats:
        """By gradients over softmax logits, from several starts."""
        return search_lbfgs(self.climbable(x), start)

    def climbable(self, x: States) -> Climbable:
        """(rows (a,), shares (a, q, K)) → (a, q), differentiable in the shares."""
        states = as_double(x)
        return lambda rows, shares: self.response.mean(states[rows], shares)


def join(network: Stack, x: Tensor, z: Tensor) -> Tensor:
    """A network of [x, z] at x (M, n, d) and z (M, n, q, K): (M, n, q)."""
    wide = torch.cat([x.unsqueeze(2).expand(-1, -1, z.shape[2], -1), z], dim=-1)
    return network(wide.flatten(1, 2)).view(z.shape[:-1])


def as_double(values: NDArray[Any]) -> Tensor:
    """A copy in double precision."""
    return as_tensor(values, np.float64)
