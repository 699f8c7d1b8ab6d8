"""Stage II: the slow student distils the replay into its potential, and follows it only in part (EMA).

L = λ_pair (M_{k→l} − y)² + λ_jac ‖u − g‖²,  θ ← γ θ + (1 − γ) θ_new

y is a difference over a finite step, so M is the student's own difference over the same step, [s(p + δ(e_l − e_k)) − s(p)] / δ:
its slope at p alone (`pair = "slope"`, as printed) would be compared with a mean of slopes on the way.
"""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from realloc.base.progress import Progress, silent
from realloc.learn.memory.moves import Labels
from realloc.learn.networks.branch import BranchShape
from realloc.learn.networks.train import TrainSplit, train
from realloc.learn.student.config import StudentConfig
from realloc.learn.student.potential import Potential, build, open_channels
from realloc.learn.teacher.sample import Scaling


@dataclass(frozen=True)
class Targets:
    """The replay as tensors, in the student's units."""

    x: Tensor  # (n, d)
    z: Tensor  # (n, q, K)
    move: Tensor  # (n, q, K) δ(e_l − e_k), scaled
    step: Tensor  # (n, q) δ
    pair: Tensor  # (M, n, q)
    field: Tensor  # (M, n, q, K) g
    unit: float  # mean of ‖g‖²


def distill(
    replay: Labels,
    scaling: Scaling,
    former: Potential | None,
    config: StudentConfig,
    seed: int,
    progress: Progress = silent,
) -> Potential:
    """Learn θ_new from the replay, starting at θ, and move θ towards it."""
    if former is None:
        fresh = new_student(replay, scaling, config, seed)
    else:
        former = open_channels(former, scaling)
        fresh = Potential(copy.deepcopy(former.network), former.scaling)
    targets = prepare(replay, fresh.scaling)
    order = torch.randperm(len(replay), generator=torch.Generator().manual_seed(seed))
    aside = max(1, int(config.held_out * len(order)))
    split = TrainSplit([order[aside:]] * fresh.members, [order[:aside]] * fresh.members)

    def report(epoch: int, epochs: int) -> None:
        progress("student: distillation", epoch, epochs)

    network = fresh.network.requires_grad_(True)
    how = config.training(first=former is None)
    train(
        network, lambda rows: student_loss(fresh, targets, rows, config), split, how, seed, report
    )
    network.requires_grad_(False)
    return fresh if former is None else average(former, fresh, config.ema)


def new_student(replay: Labels, scaling: Scaling, config: StudentConfig, seed: int) -> Potential:
    """A student of the right shape that has not learned yet."""
    d, K = replay.x.shape[1], replay.shares.shape[2]
    shape = BranchShape(inputs=d, channels=K, width=config.width, trunk=config.trunk)
    return build(config.form, len(replay.pair), shape, scaling, seed)


def student_loss(
    student: Potential, targets: Targets, rows: Tensor, config: StudentConfig
) -> Tensor:
    """The distillation loss of every member on its rows (M, b), as a part of the targets' mean square: (M,)."""
    member = torch.arange(len(rows))[:, None]
    z, move, step = targets.z[rows], targets.move[rows], targets.step[rows]
    opened = student.network.open(targets.x[rows])
    slopes = opened.slopes(z)
    u = slopes * student.scaling.inverse
    u = u - u.mean(-1, keepdim=True)
    loss = config.lambda_jac * (u - targets.field[member, rows]).square().sum(-1).mean((1, 2))
    if config.lambda_pair:
        safe = step.where(step > 0, 1.0)
        if config.pair == "difference":
            found = (opened.value(z + move) - opened.value(z)) / safe
        else:
            found = (slopes * move).sum(-1) / safe
        error = torch.where(step > 0, found - targets.pair[member, rows], 0.0)
        loss = loss + config.lambda_pair * error.square().mean((1, 2))
    return loss / targets.unit


def prepare(replay: Labels, scaling: Scaling) -> Targets:
    """Targets in units of the student's outcome scale."""
    x, shares = torch.from_numpy(replay.x), torch.from_numpy(replay.shares)
    step = torch.from_numpy(replay.step)
    move = torch.zeros_like(shares)
    move.scatter_add_(2, torch.from_numpy(replay.target).long()[..., None], step[..., None])
    move.scatter_add_(2, torch.from_numpy(replay.source).long()[..., None], -step[..., None])
    field = torch.from_numpy(replay.field) / scaling.outcome
    pair = torch.from_numpy(replay.pair) / scaling.outcome
    unit = float(field.square().sum(-1).mean()) or 1.0
    return Targets(x, scaling.shares(shares), move * scaling.inverse, step, pair, field, unit)


def average(former: Potential, fresh: Potential, ema: float) -> Potential:
    """θ = γ θ_former + (1 − γ) θ_fresh."""
    mixed = copy.deepcopy(fresh.network)
    with torch.no_grad():
        for p, old in zip(mixed.parameters(), former.network.parameters(), strict=True):
            p.mul_(1 - ema).add_(old, alpha=ema)
    return Potential(mixed, former.scaling)
