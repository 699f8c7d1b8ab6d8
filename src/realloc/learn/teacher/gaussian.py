"""The Gaussian-process surface, fitted in time linear in the rows.

Lengths and variances maximise the likelihood of small random blocks of rows (a composite
likelihood). Then, with m inducing rows and whitened features φ (n, m), the weights are a ridge
regression: w = (Σφφᵀ + σ²I)⁻¹ Σφy. Sums are kept per group of units, so that leaving folds out and
resampling units costs nothing more.

Members are draws around w: units resampled with weights Exp(1), shrunk towards a draw of the prior
instead of towards zero. They differ by what the units disagree about where there is data, and by
what the prior allows for states unlike any logged one; their mean is w exactly. Far from all logged
*shares* they agree on little effect: the support forbids such moves.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from realloc.base.progress import Progress, silent
from realloc.learn.networks.train import one_cycle
from realloc.learn.teacher.config import KernelConfig
from realloc.learn.teacher.factor import cholesky, factor_covariance
from realloc.learn.teacher.kernel import Kernel
from realloc.learn.teacher.likelihood import likelihood
from realloc.learn.teacher.posterior import KernelParts, fit_covariance
from realloc.learn.teacher.sample import TeacherSample
from realloc.learn.teacher.surface import Fit, contrast_of, in_chunks

CHUNK = 4096
GROUPS = 8  # of units per fold
JITTER = 1e-3  # of the kernel's mean diagonal: float32 features need it
JUDGED = 40_000  # rows whose out-of-fold contrast is computed


@dataclass(frozen=True)
class KernelSurface:
    """f(x, z) = effect kernel against the inducing rows, times weights (m, M)."""

    kernel: Kernel
    x: Tensor  # (m, d)
    z: Tensor  # (m, K)
    weights: Tensor  # (m, M)

    @property
    def members(self) -> int:
        """M."""
        return self.weights.shape[1]

    @torch.no_grad()
    def values(self, x: Tensor, z: Tensor) -> Tensor:
        """f at states (n, d) and scaled shares (n, q, K): (M, n, q)."""

        def part(rows: slice) -> Tensor:
            contexts = self._contexts(x[rows])
            effects = [
                self.kernel.effect(contexts, shares, self.z) @ self.weights
                for shares in z[rows].unbind(1)
            ]
            return torch.stack(effects, dim=-1).transpose(0, 1)

        return in_chunks(len(x), CHUNK, part)

    @torch.no_grad()
    def slopes(self, x: Tensor, z: Tensor) -> Tensor:
        """∇_z f at scaled shares (n, K) or (n, q, K), of the shape (M, …)."""

        def part(rows: slice) -> Tensor:
            contexts = self._contexts(x[rows])
            places = z[rows].reshape(len(x[rows]), -1, z.shape[-1])
            slopes = [
                self.kernel.effect_slopes(contexts, shares, self.z, self.weights)
                for shares in places.unbind(1)
            ]
            return torch.stack(slopes, dim=2).reshape(self.members, *z[rows].shape)

        return in_chunks(len(x), CHUNK, part)

    def _contexts(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.kernel.context("slope", x, self.x), self.kernel.context(
            "curve", x, self.x
        )


@dataclass(frozen=True)
class GramSums:
    """Σφφᵀ (G, m, m) and Σφy (G, m) per group of units, and each group's fold."""

    gram: Tensor
    moment: Tensor
    fold: Tensor  # (G,)

    def solve(
        self,
        weights: Tensor,
        noise: float,
        prior: Tensor | None = None,
    ) -> Tensor:
        """The ridge solution with groups weighted (G,), shrunk towards `prior` (m,)."""
        gram = torch.tensordot(weights, self.gram, dims=1).double()
        moment = torch.tensordot(weights, self.moment, dims=1).double()
        pull = 0 if prior is None else noise * prior.double()
        gram.diagonal().add_(noise)
        return torch.cholesky_solve((moment + pull)[:, None], cholesky(gram))[:, 0]


def fit_kernel(
    sample: TeacherSample,
    members: int,
    config: KernelConfig,
    seed: int,
    progress: Progress = silent,
    start: Kernel | None = None,
) -> Fit:
    """Learn the kernel, from `start` if there is one, then the weights of all members."""
    generator = torch.Generator().manual_seed(seed)
    kernel = learn_kernel(sample, config, generator, progress, start)
    with torch.no_grad():
        rows = torch.randperm(len(sample.y), generator=generator)[: config.inducing]
        surface = KernelSurface(
            kernel, sample.x[rows], sample.z[rows], torch.zeros(len(rows), 1)
        )
        whiten = _whitening(surface)
        sums = _sum_groups(sample, surface, whiten, progress)
        noise = float(kernel.noise.exp())
        weights = whiten.T.double() @ _draw_members(sums, noise, members, generator)

        def without(fold: int) -> KernelSurface:
            solved = sums.solve((sums.fold != fold).float(), noise)
            return replace(surface, weights=(whiten.T.double() @ solved).float()[:, None])

        contrast = _contrast(sample, without)
        crowded = noise * _crowding(sums, noise)
        parts = KernelParts(kernel, surface.x, surface.z, whiten, sums.gram.sum(0), crowded)
        covariance = fit_covariance(parts, sample.scaling)
    return Fit(replace(surface, weights=weights.float()), contrast, covariance)


def learn_kernel(
    sample: TeacherSample,
    config: KernelConfig,
    generator: torch.Generator,
    progress: Progress = silent,
    start: Kernel | None = None,
) -> Kernel:
    """Maximise the likelihood of random blocks of rows, in fewer steps from a `start`."""
    counted = torch.where(sample.weights > 0)[0]
    if start is None:
        kernel = Kernel(sample.x.shape[1], sample.z.shape[1])
        steps = config.steps
    else:
        kernel = copy.deepcopy(start).requires_grad_(True)
        steps = config.later_steps
    n = len(counted)
    size = min(config.rows, n)
    optimizer = torch.optim.Adam(kernel.parameters(), lr=config.rate)
    schedule = one_cycle(optimizer, config.rate, steps, warm=0.2)
    order = torch.randperm(n, generator=generator)
    for step in range(steps):
        if len(order) < size:
            order = torch.randperm(n, generator=generator)
        rows = counted[order[:size]]
        order = order[size:]
        found = likelihood(kernel, sample.x[rows], sample.z[rows], sample.y[rows])
        # One gradient that rounding spoilt would spoil every later step.
        sound = all(bool(values.isfinite().all()) for values in found.gradient.values())
        for name, parameter in kernel.named_parameters():
            slope = found.gradient[name]
            parameter.grad = slope if sound else torch.zeros_like(slope)
        optimizer.step()
        schedule.step()
        progress("teacher: kernel", step + 1, steps)
    return kernel.requires_grad_(False)


def _whitening(surface: KernelSurface) -> Tensor:
    """L⁻¹ of the inducing rows' covariance LLᵀ: φ = k L⁻ᵀ has prior variance one."""

    def covariance(x: Tensor, z: Tensor) -> Tensor:
        found = surface.kernel(x, z, x, z).double()
        found.diagonal().add_(JITTER * found.diagonal().mean())
        return found

    factor = factor_covariance(covariance, surface.x, surface.z)
    identity = torch.eye(len(factor), dtype=torch.float64)
    return torch.linalg.solve_triangular(factor, identity, upper=False).float()


def _sum_groups(
    sample: TeacherSample, surface: KernelSurface, whiten: Tensor, progress: Progress
) -> GramSums:
    """One pass over the rows."""
    m = len(whiten)
    count = sample.count * GROUPS
    group = sample.groups(GROUPS)
    gram = torch.zeros(count, m, m)
    moment = torch.zeros(count, m)
    for g in range(count):
        for rows in torch.where(group == g)[0].split(CHUNK):
            root = sample.weights[rows].sqrt()[:, None]
            covariance = surface.kernel(
                sample.x[rows], sample.z[rows], surface.x, surface.z
            )
            features = covariance @ whiten.T * root
            gram[g].addmm_(features.T, features)
            moment[g] += features.T @ (sample.y[rows] * root[:, 0])
        progress("teacher: kernel surface", g + 1, count)
    return GramSums(gram, moment, torch.arange(count) // GROUPS)


def _draw_members(
    sums: GramSums,
    noise: float,
    members: int,
    generator: torch.Generator,
) -> Tensor:
    """Whitened weights (m, M) whose mean is the solution of all rows."""
    groups, m = sums.moment.shape
    mean = sums.solve(torch.ones(groups), noise)[:, None]
    if members == 1:
        return mean
    solutions: list[Tensor] = []
    for _ in range(members):
        weights = torch.empty(groups).exponential_(generator=generator)
        prior = torch.randn(m, generator=generator)
        solutions.append(sums.solve(weights, noise, prior))
    draws = torch.stack(solutions, dim=1)
    return mean + (members / (members - 1)) ** 0.5 * (draws - draws.mean(1, keepdim=True))


def _crowding(sums: GramSums, noise: float) -> float:
    """How much more groups of units differ than independent rows would, at least 1.

    Σ sᵀA⁻¹s / (σ² tr A⁻¹Σφφᵀ), where s is a group's score Σφ(y − φᵀw). Rows of one unit that err
    alike count as fewer rows than they are.
    """
    w = sums.solve(torch.ones(len(sums.fold)), noise)
    total = sums.gram.sum(0).double()
    # One by one: all of them in double precision are a third of a gigabyte.
    explained = torch.stack([gram.double() @ w for gram in sums.gram])
    score = sums.moment.double() - explained  # (G, m)
    factor = cholesky(total + noise * torch.eye(len(total), dtype=torch.float64))
    spread = (score * torch.cholesky_solve(score.T, factor).T).sum()
    expected = noise * torch.cholesky_solve(total, factor).diagonal().sum()
    return max(1.0, float(spread / expected)) if float(expected) > 0 else 1.0


def _contrast(sample: TeacherSample, without: Callable[[int], KernelSurface]) -> Tensor:
    """f(x, z) − f(x, e) of up to `JUDGED` rows, each by the surface `without` its fold.

    The kernel's lengths have seen all rows.
    """
    n = len(sample.y)
    contrast = torch.full((n,), float("nan"))
    judged = torch.arange(n) % -(-n // JUDGED) == 0  # evenly spread over units and time
    for fold in range(sample.count):
        rows = torch.where((sample.folds == fold) & judged)[0]
        if len(rows):
            contrast[rows] = contrast_of(without(fold), sample, rows)[0]
    return contrast
