"""The network surfaces, members trained together.

`network` is a residual branch on the composite loss, `factual` a plain network on outcomes.
"""

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from realloc.base.progress import Progress, silent
from realloc.learn.networks.branch import Branch, BranchAt, BranchShape, OpenedPlain, Plain
from realloc.learn.networks.train import split_by_fold, train
from realloc.learn.teacher.config import FactualConfig, NetworkConfig
from realloc.learn.teacher.loss import Heads, Terms, composite_loss
from realloc.learn.teacher.sample import TeacherSample
from realloc.learn.teacher.surface import Fit, in_chunks

CHUNK = 8192
HEADS = 2  # baseline, centre


@dataclass(frozen=True)
class NetworkSurface:
    """f of the trained network."""

    branch: Branch | Plain

    @property
    def members(self) -> int:
        """M."""
        return self.branch.members

    @torch.no_grad()
    def values(self, x: Tensor, z: Tensor) -> Tensor:
        """f at states (n, d) and scaled shares (n, q, K): (M, n, q)."""

        def part(rows: slice) -> Tensor:
            return self._at(x[rows]).value(_for_all(z[rows], self.members))

        return in_chunks(len(x), CHUNK, part)

    @torch.no_grad()
    def slopes(self, x: Tensor, z: Tensor) -> Tensor:
        """∇_z f at scaled shares (n, K) or (n, q, K), of the shape (M, …)."""

        def part(rows: slice) -> Tensor:
            return self._at(x[rows]).slopes(_for_all(z[rows], self.members))

        return in_chunks(len(x), CHUNK, part)

    def _at(self, x: Tensor) -> BranchAt | OpenedPlain:
        return self.branch.open(_for_all(x, self.members))


def fit_network(
    sample: TeacherSample,
    members: int,
    config: NetworkConfig | FactualConfig,
    seed: int,
    progress: Progress = silent,
    start: NetworkSurface | None = None,
) -> Fit:
    """Train all members at once, from `start` if given; the units of fold i stop member i."""
    shape = BranchShape(
        inputs=sample.x.shape[1],
        channels=sample.z.shape[1],
        width=config.width,
        heads=HEADS,
    )
    if isinstance(config, FactualConfig):
        branch = Plain(members, shape, seed)
        loss = partial(factual_loss, branch, sample)
    else:
        branch = Branch(members, replace(shape, trunk=config.trunk), seed)
        loss = partial(teacher_loss, branch, sample, config)
    if start is not None:
        branch.load_state_dict(start.branch.state_dict())
    split = split_by_fold(sample.folds, members)
    stage = f"teacher: {config.TABLE[1:-1]}"
    last = 1

    def report(epoch: int, epochs: int) -> None:
        nonlocal last
        last = epochs
        progress(stage, epoch, epochs)

    train(branch, loss, split, config.training(), seed, report)
    progress(stage, last, last)  # also where training stopped early
    surface = NetworkSurface(branch.requires_grad_(False))
    return Fit(surface, _contrast(sample, surface))


def teacher_loss(
    branch: Branch, sample: TeacherSample, config: NetworkConfig, rows: Tensor
) -> Tensor:
    """The composite loss of every member on its rows (M, b): (M,)."""
    z = sample.z[rows]
    e = sample.e[rows]
    at_states = branch.open(sample.x[rows])
    r = at_states.value(z)
    # r = f(z) − f(e). Where only the baseline head meets r, that head takes up f(e).
    if config.residual or not config.centred:
        r = r - at_states.value(e)
    linear = (at_states.slopes(e) * (z - e)).sum(-1) if config.gradient else r
    terms = Terms(sample.y[rows], sample.m[rows], r, linear)
    heads = Heads(*at_states.heads.unbind(-1)) if config.centred else None
    lambdas = (config.factual, config.residual, config.gradient)
    return composite_loss(terms, sample.weights[rows], lambdas, heads)


def factual_loss(plain: Plain, sample: TeacherSample, rows: Tensor) -> Tensor:
    """The weighted squared error of outcomes, of every member: (M,). f holds the baseline too."""
    errors = (sample.y[rows] - plain.open(sample.x[rows]).value(sample.z[rows])).square()
    weights = sample.weights[rows]
    return (errors * weights).sum(1) / weights.sum(1)


@torch.no_grad()
def _contrast(sample: TeacherSample, surface: NetworkSurface) -> Tensor:
    """f(x, z) − f(x, e) of every row by the members that held its fold out."""
    pair = surface.values(sample.x, torch.stack([sample.z, sample.e], dim=1))  # (M, n, 2)
    held = torch.arange(surface.members) % sample.count
    unseen = held[:, None] == sample.folds  # (M, n)
    total = torch.where(unseen, pair[..., 0] - pair[..., 1], 0.0).sum(0)
    return total / unseen.sum(0).where(unseen.any(0), float("nan"))


def _for_all(values: Tensor, members: int) -> Tensor:
    return values.expand(members, *values.shape)
