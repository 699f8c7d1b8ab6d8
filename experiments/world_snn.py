"""The one rival the world's difficulty is set by: the paper's S-NN with support-constrained search
(S-NN_C).

S-NN: one network y = f([H, log B, p]) with three hidden layers, LayerNorm, ReLU, squared error, on
standardised inputs. S-NN_C: the best predicted outcome among all lattice points around the factual
shares (steps of 1 %) whose straight way is supported and that transfers inside the movement budget
reach, counted as Oracle Local counts its own. For the calibration the support is the ORACLE's
region: what S-NN_C loses is then the response model alone, not a support model that the calibration
would also have to choose.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from realloc.logs import Logs
from realloc.world import World

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SNNConfig:
    """Rate and weight decay by held-out squared error on world seeds 201 and 202: a rival trained
    with care.
    """

    width: int = 128
    epochs: int = 40
    batch: int = 512
    learning_rate: float = 1e-2
    weight_decay: float = 1.0
    held_out: float = 0.1  # share of items for early stopping


def inputs(logs: Logs) -> Floats:
    """[H, log B], (n, 3d+1)."""
    features = [logs.feature(name).to_numpy() for name in logs.features]
    return np.column_stack([*features, np.log(logs.budget)]).astype(np.float64)


class SNN:
    """A fitted S-NN."""

    def __init__(self, config: SNNConfig | None = None) -> None:
        self.config = config or SNNConfig()

    def fit(self, logs: Logs, seed: int) -> "SNN":
        x, y = np.column_stack([inputs(logs), logs.shares]), np.array(logs.outcome)
        self.centre, self.scale = x.mean(axis=0), x.std(axis=0)
        self.y_centre, self.y_scale = y.mean(), y.std()
        generator = torch.Generator().manual_seed(seed)
        held = np.random.default_rng(seed).random(logs.unit_count) < self.config.held_out
        aside = torch.from_numpy(held[logs.unit_codes])
        data = torch.from_numpy((x - self.centre) / self.scale).float()
        target = torch.from_numpy((y - self.y_centre) / self.y_scale).float()
        self.network = build(x.shape[1], self.config.width, generator)
        self._train(data[~aside], target[~aside], (data[aside], target[aside]), generator)
        return self

    def _train(
        self,
        data: torch.Tensor,
        target: torch.Tensor,
        held: tuple[torch.Tensor, torch.Tensor],
        generator: torch.Generator,
    ) -> None:
        c = self.config
        optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=c.learning_rate, weight_decay=c.weight_decay
        )
        rounds = c.epochs * (len(data) // c.batch)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds)
        best, kept = np.inf, self.network.state_dict()
        for _ in range(c.epochs):
            order = torch.randperm(len(data), generator=generator)
            for rows in order[: len(data) // c.batch * c.batch].split(c.batch):
                loss = (self.network(data[rows])[:, 0] - target[rows]).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
            with torch.no_grad():
                error = float((self.network(held[0])[:, 0] - held[1]).square().mean())
            if error < best:
                best, kept = (
                    error,
                    {k: v.clone() for k, v in self.network.state_dict().items()},
                )
        self.network.load_state_dict(kept)
        self.held_out_mse = best * float(self.y_scale) ** 2

    def predict(self, context: Floats, shares: Floats) -> Floats:
        """Predicted outcome of contexts (n, 3d+1) at shares (n, K)."""
        x = (np.column_stack([context, shares]) - self.centre) / self.scale
        with torch.no_grad():
            found = self.network(torch.from_numpy(x).float())[:, 0].numpy()
        return found.astype(np.float64) * self.y_scale + self.y_centre


def build(inputs_size: int, width: int, generator: torch.Generator) -> nn.Sequential:
    """Three hidden layers with LayerNorm and ReLU."""
    layers: list[nn.Module] = []
    for size in (inputs_size, width, width):
        layers += [nn.Linear(size, width), nn.LayerNorm(width), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Linear(width, 1))
    for layer in network:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
            nn.init.zeros_(layer.bias)
    return network


def lattice(channels: int, step: float, length: float) -> Floats:
    """All zero-sum moves in multiples of `step` that transfers of total length `length` reach (√2·δ
    each), (m, K).
    """
    reach = int(length / step)
    free = np.stack(
        np.meshgrid(*[np.arange(-reach, reach + 1)] * (channels - 1), indexing="ij"),
        axis=-1,
    )
    free = free.reshape(-1, channels - 1)
    moves = np.column_stack([free, -free.sum(axis=1)]) * step
    return moves[np.sqrt(2) * np.abs(moves).sum(axis=1) / 2 <= length + 1e-12]


def search_constrained(model: SNN, world: World, logs: Logs, step: float = 0.01) -> Floats:
    """S-NN_C: the best predicted of the supported lattice points inside the movement budget, (n,
    K).
    """
    start, state, context = np.array(logs.shares), world.state(logs), inputs(logs)
    moves = lattice(world.channels, step, world.parameters.max_length)
    candidates = start[:, None, :] + moves
    on_simplex = candidates.min(axis=-1) >= 0
    ends = np.where(on_simplex[..., None], candidates, start[:, None, :])
    row, column = np.nonzero(
        world.region(state).path_inside(start, ends, world.parameters.path_intervals)
    )
    found = model.predict(context[row], ends[row, column])
    best = np.full(len(start), -np.inf)
    np.maximum.at(best, row, found)
    winner = found == best[row]
    shares = start.copy()
    shares[row[winner]] = ends[row[winner], column[winner]]
    return shares
