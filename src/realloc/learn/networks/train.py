"""One training loop for everything: AdamW, one learning-rate cycle, early stopping by member.

Each member keeps the weights of its best epoch, judged by its own held-out rows; or by those of
the other folds' members, where its own rows judge it afterwards.
"""

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
    # (M,) the fold of each member's held-out rows, where they judge it after training
    judged: Tensor | None = None


def split_by_fold(folds: Tensor, members: int) -> TrainSplit:
    """Member i never sees fold i (n,), counted round, which judges it after training."""
    held = [i % (int(folds.max()) + 1) for i in range(members)]
    return TrainSplit(
        [torch.where(folds != fold)[0] for fold in held],
        [torch.where(folds == fold)[0] for fold in held],
        judged=torch.tensor(held),
    )


def train(
    module: nn.Module,
    loss: Loss,
    split: TrainSplit,
    config: TrainConfig,
    seed: int,
    on_epoch: OnEpoch | None = None,
) -> Tensor:
    """Train all members at once, leave each at its best epoch, return the losses that chose it."""
    generator = torch.Generator().manual_seed(seed)
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        parameters, lr=config.rate, weight_decay=config.weight_decay, fused=True
    )
    steps = max(1, min(len(rows) for rows in split.train) // config.batch)
    needed = -(-config.least_steps // steps)
    allowed = max(1, config.most_steps // steps)
    epochs = min(max(config.epochs, needed), allowed)
    patience = max(1, config.patience * epochs // config.epochs)
    schedule = one_cycle(optimizer, config.rate, epochs * steps, warm=0.1)
    best = torch.full((len(split.train),), float("inf"))
    best_weights = [p.detach().clone() for p in parameters]
    stale = torch.zeros(len(best), dtype=torch.int64)
    for epoch in range(epochs):
        order = [
            rows[torch.randperm(len(rows), generator=generator)] for rows in split.train
        ]
        for step in range(steps):
            part = slice(step * config.batch, (step + 1) * config.batch)
            size = min(len(rows[part]) for rows in order)
            total = loss(torch.stack([rows[part][:size] for rows in order])).sum()
            optimizer.zero_grad(set_to_none=True)
            total.backward()
            optimizer.step()
            schedule.step()
        held_out = evaluate(loss, split.held_out, config.batch)
        if split.judged is not None:
            held_out = losses_of_others(held_out, split.judged)
        # A stale member stays as it is while others go on: it depends on its own rows only.
        better = (held_out < best) & (stale < patience)
        best = torch.where(better, held_out, best)
        stale = torch.where(better, 0, stale + 1)
        for weights, p in zip(best_weights, parameters, strict=True):
            weights[better] = p.detach()[better]
        if on_epoch:
            on_epoch(epoch + 1, epochs)
        if bool((stale >= patience).all()):
            break
    with torch.no_grad():
        for weights, p in zip(best_weights, parameters, strict=True):
            p.copy_(weights)
    return best


def losses_of_others(losses: Tensor, folds: Tensor) -> Tensor:
    """For each member, the mean loss of the members of other folds; its own without any."""
    others = folds[:, None] != folds
    mean = (others * losses).sum(1) / others.sum(1)
    return torch.where(others.any(1), mean, losses)


def one_cycle(
    optimizer: torch.optim.Optimizer, rate: float, steps: int, warm: float
) -> torch.optim.lr_scheduler.OneCycleLR:
    """Up to `rate` over the first part `warm` of the steps, and down to almost nothing."""
    # torch divides by zero where warming up takes exactly one step.
    if warm * steps == 1:
        warm /= 2
    return torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=steps, pct_start=warm
    )


@torch.no_grad()
def evaluate(loss: Loss, rows: Sequence[Tensor], batch: int) -> Tensor:
    """Mean loss of every member on its rows, cut to the shortest list to share a batch."""
    size = min(len(part) for part in rows)
    stacked = torch.stack([part[:size] for part in rows])
    total = torch.zeros(len(rows))
    step = 8 * batch
    for first in range(0, size, step):
        part = stacked[:, first : first + step]
        total += loss(part) * part.shape[1]
    return total / size
