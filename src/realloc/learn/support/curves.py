"""Curves of the state that the additive terms lack.

They are the hidden layer of a small network that predicts where shares lie. Where policies bend, or
weigh several columns together, an additive model is off its centre.
"""

from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from realloc.base.progress import Progress
from realloc.base.simplex import Floats, Integers
from realloc.learn.networks.config import TrainConfig
from realloc.learn.networks.train import TrainSplit, train
from realloc.learn.scaling import Floats32

MOST = 32
ROWS_EACH = 200  # rows that a curve needs at least
FEWEST = 4
TAIL = 4.0  # squared radius beyond which a row counts less
TRAINING = TrainConfig(
    epochs=20,
    batch=512,
    rate=1e-2,
    weight_decay=1e-2,
    patience=20,
    least_steps=300,
    most_steps=1500,
)


def learn_curves(
    x: Floats32, v: Floats, folds: Integers, seed: int, progress: Progress
) -> list[Floats] | None:
    """Curves for the whitened shares v (n, D): of each fold without its rows, then of all.

    None where rows are too few.
    """
    width = min(MOST, len(x) // ROWS_EACH)
    count = int(folds.max()) + 1
    if width < FEWEST or count < 2:
        return None
    network = Bends(count + 1, x.shape[1], width, v.shape[1], seed)
    code = torch.from_numpy(folds)
    held = [torch.where(code == fold)[0] for fold in [*range(count), 0]]
    seen = [torch.where(code != fold)[0] for fold in range(count)]
    split = TrainSplit([*seen, torch.arange(len(x))], held)
    loss = partial(
        _loss, network, torch.from_numpy(x), torch.from_numpy(v.astype(np.float32))
    )
    train(network, loss, split, TRAINING, seed, partial(progress, "support: curves"))
    weights = torch.cat([network.weight, network.bias], dim=1).detach().double().numpy()
    return list(weights)


class Bends(nn.Module):
    """M networks of one hidden layer, with a linear path past it."""

    def __init__(
        self, members: int, inputs: int, width: int, outputs: int, seed: int
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        normal = torch.randn(members, inputs, width, generator=generator)
        self.weight = nn.Parameter(normal / inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(members, 1, width))
        self.head = nn.Parameter(torch.zeros(members, width, outputs))
        self.path = nn.Parameter(torch.zeros(members, inputs, outputs))
        self.offset = nn.Parameter(torch.zeros(members, 1, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (M, n, D) of states (M, n, d)."""
        hidden = torch.tanh(torch.baddbmm(self.bias, x, self.weight))
        return torch.baddbmm(torch.baddbmm(self.offset, hidden, self.head), x, self.path)


def _loss(network: Bends, x: Tensor, v: Tensor, rows: Tensor) -> Tensor:
    """Of every member on its rows (M, b); rows far out count little."""
    squared = (v[rows] - network(x[rows])).square().sum(-1)
    return torch.log1p(squared / TAIL).mean(-1)
