"""The network surfaces, members trained together: a residual branch on the composite loss, or a plain network on outcomes."""

from dataclasses import dataclass

import torch
from torch import Tensor

from realloc.base.progress import Progress, silent
from realloc.learn.networks.branch import Branch, BranchShape, Plain
from realloc.learn.networks.train import TrainSplit, train
from realloc.learn.teacher.config import NetworkConfig
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
            return self.branch.open(_all(x[rows], self.members)).value(_all(z[rows], self.members))

        return in_chunks(len(x), CHUNK, part)

    @torch.no_grad()
    def slopes(self, x: Tensor, z: Tensor) -> Tensor:
        """∇_z f at scaled shares (n, K) or (n, q, K), of the shape (M, …)."""

        def part(rows: slice) -> Tensor:
            return self.branch.open(_all(x[rows], self.members)).slopes(_all(z[rows], self.members))

        return in_chunks(len(x), CHUNK, part)


def fit_network(
    sample: TeacherSample,
    members: int,
    config: NetworkConfig,
    seed: int,
    progress: Progress = silent,
    start: NetworkSurface | None = None,
) -> Fit:
    """Train all members at once, from `start` if given; member i is stopped by the units of fold i, unknown to it."""
    K, d = sample.z.shape[1], sample.x.shape[1]
    shape = BranchShape(inputs=d, channels=K, width=config.width, trunk=config.trunk, heads=HEADS)
    branch = (Plain if config.form == "plain" else Branch)(members, shape, seed)
    if start is not None:
        branch.load_state_dict(start.branch.state_dict())
    held = [i % sample.count for i in range(members)]
    split = TrainSplit(
        [torch.where(sample.folds != fold)[0] for fold in held],
        [torch.where(sample.folds == fold)[0] for fold in held],
    )

    last = 1

    def report(epoch: int, epochs: int) -> None:
        nonlocal last
        last = epochs
        progress(f"teacher: {config.TABLE[1:-1]}", epoch, epochs)

    train(
        branch,
        lambda rows: teacher_loss(branch, sample, rows, config),
        split,
        config.training(),
        seed,
        report,
    )
    progress(f"teacher: {config.TABLE[1:-1]}", last, last)  # also where it stopped early
    surface = NetworkSurface(branch.requires_grad_(False))
    return Fit(surface, _contrast(sample, surface, held))


def teacher_loss(
    branch: Branch | Plain, sample: TeacherSample, rows: Tensor, config: NetworkConfig
) -> Tensor:
    """The composite loss of every member on its rows (M, b): (M,)."""
    if isinstance(branch, Plain):  # its f holds the baseline too
        errors = (sample.y[rows] - branch.open(sample.x[rows]).value(sample.z[rows])).square()
        return config.factual * (errors * sample.weights[rows]).sum(1) / sample.weights[rows].sum(1)
    z, e = sample.z[rows], sample.e[rows]
    opened = branch.open(sample.x[rows])
    # r = f(z) − f(e); where the baseline head alone meets it, f(e) is a function of the state that the head takes up.
    r = opened.value(z) - (opened.value(e) if config.residual or not config.centred else 0)
    linear = (opened.slopes(e) * (z - e)).sum(-1) if config.gradient else r
    terms = Terms(sample.y[rows], sample.m[rows], r, linear)
    found = Heads(opened.heads[..., 0], opened.heads[..., 1]) if config.centred else None
    lambdas = (config.factual, config.residual, config.gradient)
    return composite_loss(terms, sample.weights[rows], lambdas, found)


@torch.no_grad()
def _contrast(sample: TeacherSample, surface: NetworkSurface, held: list[int]) -> Tensor:
    """f(x, z) − f(x, e) of every row by the members that held its fold out."""
    pair = surface.values(sample.x, torch.stack([sample.z, sample.e], dim=1))  # (M, n, 2)
    own = torch.tensor(held)[:, None] == sample.folds  # (M, n)
    total = torch.where(own, pair[..., 0] - pair[..., 1], 0.0).sum(0)
    return total / own.sum(0).where(own.any(0), float("nan"))


def _all(values: Tensor, members: int) -> Tensor:
    return values.expand(members, *values.shape)
