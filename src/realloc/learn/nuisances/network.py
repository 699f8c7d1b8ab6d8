"""m and e by one network with a joint head; the fits of all folds are members of one batched stack.

loss = deviance(y, m) / deviance of the start  +  Σ_k (p_k − e_k)² / Σ_k var(p_k),    e =
softmax(logits)

The network adds to the ridge regression that m starts from. The squared error is least at E[p|x]
also where shares are exactly zero; a likelihood of shares would be infinite there.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from realloc.learn.networks.stack import Shape, Stack
from realloc.learn.networks.train import TrainSplit, train
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.nuisances.jobs import FitJob, OnStep, Prediction
from realloc.learn.nuisances.link import deviance, response
from realloc.learn.nuisances.ridge import RidgeStart
from realloc.learn.nuisances.sample import Floats, Indices, NuisanceSample

SMALLEST_SHARE = 1e-6  # where a channel's mean share starts that training never saw used
FEWEST_STEPS = 16  # per epoch: small logs get smaller batches
CHUNK = 8192


@dataclass(frozen=True)
class NetworkProblem:
    """Scaled targets of M jobs."""

    x: Tensor
    shares: Tensor
    z: Tensor  # (M, n)
    start: Tensor  # f (M, n)
    weights: Tensor  # (M, n)
    prior: Tensor  # logits (M, 1, K)
    outcome_scale: Tensor  # of the loss (M, 1)
    share_scale: Tensor
    kind: str

    def means(self, stack: Stack, rows: Tensor) -> tuple[Tensor, Tensor]:
        """f (M, b) and e (M, b, K) of every member's rows (M, b)."""
        out = stack(self.x[rows])
        f = self.start.gather(1, rows) + out[..., 0]
        return f, torch.softmax(out[..., 1:] + self.prior, dim=-1)

    def loss(self, stack: Stack, rows: Tensor) -> Tensor:
        """Weighted loss of every member on its rows (M, b)."""
        f, e = self.means(stack, rows)
        outcome = deviance(self.kind, self.z.gather(1, rows), f) / self.outcome_scale
        shares = (self.shares[rows] - e).square().sum(-1) / self.share_scale
        return ((outcome + shares) * self.weights.gather(1, rows)).mean(-1)


def fit_networks(
    sample: NuisanceSample,
    jobs: list[FitJob],
    starts: list[RidgeStart],
    config: NuisanceConfig,
    seed: int,
    on_step: OnStep,
) -> list[Prediction]:
    """Fit all jobs at once."""
    problem = _problem(sample, jobs, starts, config.outcome)
    shape = Shape(
        inputs=sample.x.shape[1],
        outputs=1 + sample.shares.shape[1],
        width=config.width,
        depth=config.depth,
    )
    stack = Stack(len(jobs), shape, seed)
    split = TrainSplit(
        [torch.from_numpy(job.train) for job in jobs],
        [torch.from_numpy(job.held_out) for job in jobs],
    )
    smallest = min(len(job.train) for job in jobs)
    batch = max(16, min(config.batch, smallest // FEWEST_STEPS))
    train(
        stack,
        partial(problem.loss, stack),
        split,
        config.training(batch),
        seed,
        on_step,
    )
    held = _predict(stack, problem, [job.held_out for job in jobs])
    away = _predict(stack, problem, [job.away for job in jobs])
    return [
        Prediction(start.link.mean(held_z), held_e, start.link.mean(z), e)
        for start, (held_z, held_e), (z, e) in zip(starts, held, away, strict=True)
    ]


def _problem(
    sample: NuisanceSample, jobs: list[FitJob], starts: list[RidgeStart], kind: str
) -> NetworkProblem:
    z: list[Floats] = []
    weights: list[Floats] = []
    prior: list[Floats] = []
    outcome_scale: list[float] = []
    share_scale: list[float] = []
    for job, start in zip(jobs, starts, strict=True):
        train_weights = sample.weights[job.train]
        shares = sample.shares[job.train]
        scaled = start.link.forward(sample.outcome)
        z.append(scaled)
        weights.append(sample.weights / train_weights.mean())
        mean = np.average(shares, axis=0, weights=train_weights)
        prior.append(np.log(np.maximum(mean, SMALLEST_SHARE)))
        at_start = torch.from_numpy(start.f[job.train])
        null = deviance(kind, torch.from_numpy(scaled[job.train]), at_start).numpy()
        outcome_scale.append(np.average(null, weights=train_weights) or 1.0)
        spread = ((shares - mean) ** 2).sum(axis=1)
        share_scale.append(np.average(spread, weights=train_weights) or 1.0)

    def tensor(values: Floats | list[Floats] | list[float]) -> Tensor:
        return torch.tensor(np.asarray(values), dtype=torch.float32)

    return NetworkProblem(
        x=torch.from_numpy(sample.x),
        shares=tensor(sample.shares),
        z=tensor(z),
        start=tensor([start.f for start in starts]),
        weights=tensor(weights),
        prior=tensor(prior).unsqueeze(1),
        outcome_scale=tensor(outcome_scale).unsqueeze(1),
        share_scale=tensor(share_scale).unsqueeze(1),
        kind=kind,
    )


@torch.no_grad()
def _predict(
    stack: Stack,
    problem: NetworkProblem,
    rows: list[Indices],
) -> list[tuple[Floats, Floats]]:
    """Mean of z and shares of every member on its rows, padded to one length and cut."""
    longest = max(len(part) for part in rows)
    padded = torch.from_numpy(np.stack([np.resize(part, longest) for part in rows]))
    z: list[Tensor] = []
    e: list[Tensor] = []
    for part in padded.split(CHUNK, dim=1):
        f, shares = problem.means(stack, part)
        z.append(response(problem.kind, f.double()))
        e.append(shares.double() / shares.double().sum(-1, keepdim=True))
    means = torch.cat(z, dim=1).numpy()
    shares = torch.cat(e, dim=1).numpy()
    return [(means[i, : len(part)], shares[i, : len(part)]) for i, part in enumerate(rows)]
