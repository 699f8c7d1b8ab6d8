"""M small networks of one shape as one: every weight has a leading member axis.

x (M, n, in) → (M, n, out). Hidden layers are linear, layer norm, SiLU (so that gradients are
smooth) or ReLU. A linear path from input to output leaves only the rest to the hidden layers.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

EPS = 1e-5
ACTIVATIONS = {"silu": nn.functional.silu, "relu": nn.functional.relu}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of a network."""

    inputs: int
    outputs: int
    width: int = 128
    depth: int = 3
    activation: str = "silu"  # of ACTIVATIONS


class Stack(nn.Module):
    """M members of one `Shape`, initialised from a seed of their own each."""

    def __init__(self, members: int, shape: Shape, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.activate = ACTIVATIONS[shape.activation]
        sizes = [shape.inputs, *[shape.width] * shape.depth]
        weights = [_draw(members, a, b, generator) for a, b in pairwise(sizes)]
        self.weights = nn.ParameterList(weights)
        layer = torch.zeros(members, 1, shape.width)
        self.biases = nn.ParameterList(layer.clone() for _ in weights)
        self.gains = nn.ParameterList(torch.ones_like(layer) for _ in weights)
        self.shifts = nn.ParameterList(layer.clone() for _ in weights)
        self.head = nn.Parameter(torch.zeros(members, sizes[-1], shape.outputs))
        self.offset = nn.Parameter(torch.zeros(members, 1, shape.outputs))
        self.path = nn.Parameter(torch.zeros(members, shape.inputs, shape.outputs))

    @property
    def members(self) -> int:
        """M."""
        return len(self.head)

    def hidden(self, x: Tensor) -> Tensor:
        """The last hidden layer, (M, n, width)."""
        layers = zip(
            self.weights,
            self.biases,
            self.gains,
            self.shifts,
            strict=True,
        )
        for weight, bias, gain, shift in layers:
            x = torch.baddbmm(bias, x, weight)
            x = nn.functional.layer_norm(x, x.shape[-1:], eps=EPS)
            x = self.activate(torch.addcmul(shift, x, gain))
        return x

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (M, n, out)."""
        out = torch.baddbmm(self.offset, self.hidden(x), self.head)
        return torch.baddbmm(out, x, self.path)


def _draw(
    members: int,
    inputs: int,
    outputs: int,
    generator: torch.Generator,
) -> nn.Parameter:
    """He-scaled normal weights."""
    normal = torch.randn(members, inputs, outputs, generator=generator)
    return nn.Parameter(normal * (2.0 / inputs) ** 0.5)
