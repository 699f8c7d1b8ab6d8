"""Stage II: the slow student distils the memory into its potential, and follows it only in part.

L = λ_pair (M_{k→l} − y)² + λ_jac ‖u − g‖²,  θ ← γ θ + (1 − γ) θ_new

y is a difference over a finite step, so M is the student's own difference over the same step,
[s(p + δ(e_l − e_k)) − s(p)] / δ. Its slope at p alone (`pair = "slope"`, as the paper prints it)
would be compared with a mean of slopes along the step.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from realloc.base.progress import Progress, silent
from realloc.learn.memory.labels import Labels
from realloc.learn.networks.branch import Branch, BranchShape
from realloc.learn.networks.train import TrainSplit, train
from realloc.learn.scaling import Floats32, Scaling
from realloc.learn.student.config import StudentConfig
from realloc.learn.student.potential import CONTEXT, Potential


@dataclass(frozen=True)
class Targets:
    """The memory as tensors, in the student's units."""

    x: Tensor  # (n, d)
    z: Tensor  # (n, q, K)
    move: Tensor  # (n, q, K) δ(e_l − e_k), scaled
    step: Tensor  # (n, q) δ
    pair: Tensor  # (M, n, q)
    field: Tensor  # (M, n, q, K) g
    inverse: Tensor  # (K,) from scaled shares to shares
    unit: float  # mean of ‖g‖²


def distill(
    memory: Labels,
    scaling: Scaling,
    former: Potential | None,
    config: StudentConfig,
    seed: int,
    progress: Progress = silent,
) -> Potential:
    """Learn θ_new from the memory, starting at θ, and move θ towards it."""
    if former is None:
        network = new_network(memory, scaling, config, seed)
    else:
        former = open_channels(former, scaling)
        scaling = former.scaling
        network = to_network(former)
    targets = prepare(memory, scaling)
    order = torch.randperm(len(memory), generator=torch.Generator().manual_seed(seed))
    held_out = max(1, int(config.held_out * len(order)))
    split = TrainSplit(
        [order[held_out:]] * network.members,
        [order[:held_out]] * network.members,
    )

    report = partial(progress, "student: distillation")
    how = config.training(first=former is None)
    train(
        network,
        lambda rows: student_loss(network, targets, rows, config),
        split,
        how,
        seed,
        report,
    )
    student = to_potential(network, scaling)
    return student if former is None else average(former, student, config.ema)


def new_network(
    memory: Labels, scaling: Scaling, config: StudentConfig, seed: int
) -> Branch:
    """A network that is zero everywhere, and flat along channels that never moved."""
    shape = BranchShape(
        inputs=memory.x.shape[1],
        channels=memory.shares.shape[2],
        width=config.width,
        trunk=config.trunk,
    )
    network = Branch(len(memory.pair), shape, seed)
    with torch.no_grad():
        network.directions[:, torch.from_numpy(scaling.inverse == 0)] = 0
    return network


def to_network(potential: Potential) -> Branch:
    """The potential as a network that can learn."""
    members, channels, trunk = potential.directions.shape
    first = potential.weights[f"{CONTEXT}weights.0"]
    shape = BranchShape(
        inputs=first.shape[1], channels=channels, width=first.shape[2], trunk=trunk
    )
    network = Branch(members, shape, seed=0)
    weights = {
        name: torch.from_numpy(values.copy()) for name, values in potential.weights.items()
    }
    network.load_state_dict(weights)
    return network


def to_potential(network: Branch, scaling: Scaling) -> Potential:
    """What the network has learned, without torch."""
    weights = {
        name: np.array(values.numpy()) for name, values in network.state_dict().items()
    }
    return Potential(weights, scaling)


def open_channels(former: Potential, scaling: Scaling) -> Potential:
    """The same potential, able to learn about channels that move for the first time.

    Along them it is still flat.
    """
    old = former.scaling
    still = old.inverse == 0
    if not bool((still & (scaling.inverse > 0)).any()):
        return former
    opened = Scaling(
        np.where(still, scaling.centre, old.centre),
        np.where(still, scaling.inverse, old.inverse),
        old.outcome,
    )
    return replace(former, scaling=opened)


def student_loss(
    network: Branch, targets: Targets, rows: Tensor, config: StudentConfig
) -> Tensor:
    """The distillation loss of every member on its rows (M, b), over the mean square: (M,)."""
    member = torch.arange(len(rows))[:, None]
    z = targets.z[rows]
    move = targets.move[rows]
    step = targets.step[rows]
    at = network.open(targets.x[rows])
    slopes = at.slopes(z)
    u = slopes * targets.inverse
    u = u - u.mean(-1, keepdim=True)
    loss = config.lambda_jac * (u - targets.field[member, rows]).square().sum(-1).mean(
        (1, 2)
    )
    if config.lambda_pair:
        safe = step.where(step > 0, 1.0)
        if config.pair == "difference":
            pair = (at.value(z + move) - at.value(z)) / safe
        else:
            pair = (slopes * move).sum(-1) / safe
        error = torch.where(step > 0, pair - targets.pair[member, rows], 0.0)
        loss = loss + config.lambda_pair * error.square().mean((1, 2))
    return loss / targets.unit


def prepare(memory: Labels, scaling: Scaling) -> Targets:
    """Targets in units of the student's outcome scale."""
    shares = torch.from_numpy(memory.shares)
    step = torch.from_numpy(memory.step)
    move = torch.zeros_like(shares)
    move.scatter_add_(2, torch.from_numpy(memory.target).long()[..., None], step[..., None])
    move.scatter_add_(
        2, torch.from_numpy(memory.source).long()[..., None], -step[..., None]
    )
    field = torch.from_numpy(memory.field) / scaling.outcome
    inverse = torch.from_numpy(scaling.inverse)
    return Targets(
        x=torch.from_numpy(memory.x),
        z=(shares - torch.from_numpy(scaling.centre)) * inverse,
        move=move * inverse,
        step=step,
        pair=torch.from_numpy(memory.pair) / scaling.outcome,
        field=field,
        inverse=inverse,
        unit=float(field.square().sum(-1).mean()) or 1.0,
    )


def average(former: Potential, fresh: Potential, ema: float) -> Potential:
    """θ = γ θ_former + (1 − γ) θ_fresh."""
    mixed: dict[str, Floats32] = {
        name: ((1 - ema) * values + ema * former.weights[name]).astype(np.float32)
        for name, values in fresh.weights.items()
    }
    return Potential(mixed, former.scaling)
