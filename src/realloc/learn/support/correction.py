"""A network on top of the additive model of support: what is left of the centre and of log s, kept only where it helps.

loss = D·c + (ν+D)/2 · log(1 + ‖z − a‖² e^{−2c}/ν),   z = (v − m)/s of a fit that never saw the row's unit

One member per fold learns from the other folds. Their outputs count by g = max(0, 1 − 1/t²), t the gain of the held-out
likelihood over its standard error across rows: below t = `LEAST_EVIDENCE` there is no network.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realloc.base.progress import Progress
from realloc.base.simplex import Floats
from realloc.learn.networks.config import TrainConfig
from realloc.learn.networks.stack import Shape, Stack
from realloc.learn.networks.train import TrainSplit, train

WIDTH, DEPTH = 32, 2
TRAINING = TrainConfig(
    epochs=12, batch=512, rate=3e-3, weight_decay=0.3, patience=3, least_steps=200, most_steps=1500
)
LEAST_EVIDENCE = 3.0
LEAST_ROWS = 1000  # fewer logged actions have nothing to say beyond an additive model
CHUNK = 16_384


@dataclass(frozen=True)
class Found:
    """Shifts of the centre (n, D) in units of s and of log s (n,), and their variances among members (n,)."""

    centre: Floats
    log_scale: Floats
    centre_variance: Floats
    scale_variance: Floats


@dataclass(frozen=True)
class Correction:
    """A stack of networks and how much they count."""

    network: Stack
    weight: float

    @torch.no_grad()
    def at(self, x: NDArray[np.float32]) -> Found:
        """Their mean and spread at n states."""
        M, parts = self.network.members, []
        for first in range(0, max(len(x), 1), CHUNK):
            states = torch.from_numpy(np.array(x[first : first + CHUNK]))
            parts.append(self.network(states.expand(M, -1, -1)).double().numpy() * self.weight)
        out = np.concatenate(parts, axis=1)  # (M, n, D + 1)
        mean = out.mean(axis=0)
        variance = np.square(out - mean).mean(axis=0)
        return Found(mean[:, :-1], mean[:, -1], variance[:, :-1].mean(axis=1), variance[:, -1])


def shape(inputs: int, dimensions: int) -> Shape:
    """Sizes of the network."""
    return Shape(inputs=inputs, outputs=dimensions + 1, width=WIDTH, depth=DEPTH, linear_path=False)


def fit_correction(
    x: NDArray[np.float32],
    z: Floats,
    folds: NDArray[np.int64],
    tail: float,
    radius: Floats,
    seed: int,
    progress: Progress,
) -> tuple[Correction | None, Floats]:
    """From z (M, n, D) of a fit without each fold: the network if it helps, and the radius of rows by who never saw them."""
    count, n, D = z.shape
    if n < LEAST_ROWS or x.shape[1] == 0:
        return None, radius
    stack = Stack(count, shape(x.shape[1], D), seed)
    states, targets = torch.from_numpy(np.array(x)), torch.from_numpy(z).float()
    number = torch.arange(count)[:, None]

    def loss(rows: Tensor) -> Tensor:
        return likelihood_loss(stack(states[rows]), targets[number, rows], tail).mean(1)

    def report(epoch: int, epochs: int) -> None:
        progress("support: network", epoch, epochs)

    random = np.random.default_rng(seed)
    learned, judged = [], []
    for fold in range(count):
        rows = random.permutation(np.flatnonzero(folds != fold))
        learned.append(torch.from_numpy(rows[len(rows) // 10 :]))
        judged.append(torch.from_numpy(rows[: len(rows) // 10]))
    train(stack, loss, TrainSplit(learned, judged), TRAINING, seed, report)
    stack.requires_grad_(False)
    out, own = np.empty((n, D + 1)), np.empty((n, D))
    for fold in range(count):
        rows = np.flatnonzero(folds == fold)
        own[rows] = z[fold, rows]
        for part in np.array_split(rows, max(1, len(rows) // CHUNK)):
            out[part] = (
                stack(states[torch.from_numpy(part)].expand(count, -1, -1))[fold].double().numpy()
            )
    before = likelihood_loss(torch.zeros(1), torch.from_numpy(own), tail)
    better = (before - likelihood_loss(torch.from_numpy(out), torch.from_numpy(own), tail)).numpy()
    t = float(better.mean() / (better.std() / np.sqrt(len(better)) + 1e-12))
    if t < LEAST_EVIDENCE:
        return None, radius
    out *= 1 - 1 / t**2
    return Correction(stack, 1 - 1 / t**2), np.linalg.norm(own - out[:, :-1], axis=1) / np.exp(
        out[:, -1]
    )


def likelihood_loss(out: Tensor, z: Tensor, tail: float) -> Tensor:
    """The loss of each row; `out` (..., D + 1) holds the shift of the centre and of log s."""
    D = z.shape[-1]
    a, c = (
        (out[..., :-1], out[..., -1])
        if out.shape[-1] == D + 1
        else (torch.zeros(()), torch.zeros(()))
    )
    squared = (z - a).square().sum(-1) * torch.exp(-2 * c)
    return D * c + (tail + D) / 2 * torch.log1p(squared / tail)
