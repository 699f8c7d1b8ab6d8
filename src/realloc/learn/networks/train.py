"""One training loop for everything: AdamW, a cosine schedule, the best weights of each member by its own held-out rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from realloc.learn.networks.config import TrainConfig

# (rows (M, b)) → loss of every member (M,)
Loss = Callable[[Tensor], Tensor]
OnEpoch = Callable[[int, int], None]


@dataclass(frozen=True)
class TrainSplit:
    """The rows that each member learns from and the ones it is judged by."""

    train: Sequence[Tensor]
    held_out: Sequence[Tensor]


def train(
    module: nn.Module,
    loss: Loss,
    split: TrainSplit,
    config: TrainConfig,
    seed: int,
    on_epoch: OnEpoch | None = None,
) -> Tensor:
    """Train all members at once; leaves each at its best epoch and returns their held-out losses (M,)."""
    generator = torch.Generator().manual_seed(seed)
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=config.rate, weight_decay=config.weight_decay)
    steps = max(1, min(len(rows) for rows in split.train) // config.batch)
    epochs = min(
        max(config.epochs, -(-config.least_steps // steps)), max(1, config.most_steps // steps)
    )
    patience = max(1, config.patience * epochs // config.epochs)
    schedule = one_cycle(optimizer, config.rate, epochs * steps, warm=0.1)
    best = torch.full((len(split.train),), float("inf"))
    kept = [p.detach().clone() for p in parameters]
    stale = torch.zeros(len(best), dtype=torch.int64)
    for epoch in range(epochs):
        order = [rows[torch.randperm(len(rows), generator=generator)] for rows in split.train]
        for step in range(steps):
            part = slice(step * config.batch, (step + 1) * config.batch)
            size = min(len(rows[part]) for rows in order)
            total = loss(torch.stack([rows[part][:size] for rows in order])).sum()
            optimizer.zero_grad(set_to_none=True)
            total.backward()
            optimizer.step()
            schedule.step()
        found = evaluate(loss, split.held_out, config.batch)
        # A stale member is over, also while others go on: what it becomes depends on its own rows only.
        better = (found < best) & (stale < patience)
        best = torch.where(better, found, best)
        stale = torch.where(better, 0, stale + 1)
        with torch.no_grad():
            for mine, p in zip(kept, parameters, strict=True):
                mine[better] = p.detach()[better]
        if on_epoch:
            on_epoch(epoch + 1, epochs)
        if bool((stale >= patience).all()):
            break
    with torch.no_grad():
        for mine, p in zip(kept, parameters, strict=True):
            p.copy_(mine)
    return best


def one_cycle(
    optimizer: torch.optim.Optimizer, rate: float, steps: int, warm: float
) -> torch.optim.lr_scheduler.OneCycleLR:
    """Up to `rate` over the first part `warm` of the steps, and down to almost nothing."""
    if (
        warm * steps == 1
    ):  # torch divides by zero where the way up is one step exactly; with less there is none
        warm /= 2
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=warm)


@torch.no_grad()
def evaluate(loss: Loss, rows: Sequence[Tensor], batch: int) -> Tensor:
    """Mean loss of every member on its rows (cut to the shortest list, so that members share one batch)."""
    size = min(len(part) for part in rows)
    stacked = torch.stack([part[:size] for part in rows])
    total, step = torch.zeros(len(rows)), 8 * batch
    for first in range(0, size, step):
        part = stacked[:, first : first + step]
        total += loss(part) * part.shape[1]
    return total / size
