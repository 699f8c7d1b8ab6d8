"""The sparse surface: slopes and curvature linear in the state, each column with its own precision.

y − m ≈ Σ_j x_j [⟨w_j, z − e⟩ + ⟨v_j, q(z) − E q(z)⟩ + ⟨u_j, z³/3 − E z³/3⟩],
q(z) = all products z_k z_l,  x_0 = 1

An orthogonal regression (Robinson) with automatic relevance determination: the coefficients of one
column share a precision, learned by maximising the evidence, so that irrelevant columns cost
nothing. It is a partially linear model (LinearDML) that chooses its columns and bends, and it takes
a tenth of a second. Members are refits on resampled units around draws of the prior, like those of
the kernel surface; precisions are chosen again for every fold that is held out.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from realloc.base.numerics.jitter import solve
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, Integers
from realloc.learn.teacher.sample import TeacherSample
from realloc.learn.teacher.surface import Fit, contrast_of, in_chunks

GROUPS = 8  # of units per fold
# At most so many columns, or a quarter of the rows; beyond that, those that alone fit best.
MOST = 600
PAIRS = 9  # channels up to which all products are curvature; above, squares alone
TURNS = 25  # of the precisions
# bounds of a precision
WEAK = 1e-6
STRONG = 1e8
CHUNK = 4096
LARGEST = 10_000_000  # numbers of a chunk's curvature


@dataclass(frozen=True)
class SparseSurface:
    """f = ⟨a(x), z⟩ + ½ zᵀ S(x) z + ⟨c(x), z³/3⟩ with a, S and c linear in [1, x]."""

    slope: Tensor  # (M, d+1, K)
    bend: Tensor  # (M, d+1, K, K), symmetric
    cube: Tensor  # (M, d+1, K): how curvature changes along a channel's own share

    @property
    def members(self) -> int:
        """M."""
        return len(self.slope)

    @torch.no_grad()
    def values(self, x: Tensor, z: Tensor) -> Tensor:
        """f at states (n, d) and scaled shares (n, q, K): (M, n, q)."""

        def part(rows: slice) -> Tensor:
            a, S, c = self._open(x[rows])
            shares = z[rows]
            odd = (shares @ a.unsqueeze(-1) + shares.pow(3) @ (c / 3).unsqueeze(-1))[..., 0]
            return odd + 0.5 * ((shares @ S) * shares).sum(-1)

        return in_chunks(len(x), self._chunk(), part)

    @torch.no_grad()
    def slopes(self, x: Tensor, z: Tensor) -> Tensor:
        """∇_z f at scaled shares (n, K) or (n, q, K), of the shape (M, …)."""

        def part(rows: slice) -> Tensor:
            a, S, c = self._open(x[rows])
            shares = z[rows].reshape(len(x[rows]), -1, z.shape[-1])  # (n, q, K)
            slopes = a.unsqueeze(2) + shares @ S + c.unsqueeze(2) * shares.square()
            return slopes.reshape(self.members, *z[rows].shape)

        return in_chunks(len(x), self._chunk(), part)

    def _open(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        wide = torch.cat([torch.ones(len(x), 1), x], dim=1)
        M, _, K, _ = self.bend.shape
        bend = (wide @ self.bend.flatten(2)).view(M, len(x), K, K)
        return wide @ self.slope, bend, wide @ self.cube

    def _chunk(self) -> int:
        M, _, K, _ = self.bend.shape
        return max(16, min(CHUNK, LARGEST // (M * K * K)))


@dataclass(frozen=True)
class SparseColumns:
    """The regression's columns: a state's column times a slope, a curvature or a cube."""

    state: Integers  # (p,) column of [1, x]
    part: Integers  # (p,) entry of [z − e, q(z) − E q(z), z³/3 − E z³/3]
    group: Integers  # (p,) columns that share a precision


@dataclass(frozen=True)
class SparseSums:
    """Sums over the rows of each group of units, and each group's fold (G,)."""

    gram: Floats  # Σwφφᵀ (G, p, p)
    moment: Floats  # Σwφr (G, p)
    square: Floats  # Σwr² (G,)
    weight: Floats  # Σw (G,)
    fold: Integers


@dataclass(frozen=True)
class Coefficients:
    """The regression's solution: coefficients and precisions (p,), and the noise σ²."""

    mean: Floats
    precision: Floats
    noise: float


def fit_sparse(
    sample: TeacherSample,
    members: int,
    seed: int,
    progress: Progress = silent,
) -> Fit:
    """One pass over the rows, then small regressions."""
    pairs = products(sample.z.shape[1])
    wide = np.column_stack([np.ones(len(sample.x)), sample.x.double().numpy()])
    parts = contrasts(sample, pairs, wide)
    residual = (sample.y - sample.m).double().numpy()
    weights = sample.weights.double().numpy()
    columns = choose_columns(wide, parts, residual * weights, sample.z.shape[1])
    sums = sum_groups(wide, parts, residual, columns, sample)
    progress("teacher: sparse surface", 1, 2)

    every = np.ones(len(sums.fold))
    solved = relevant(sums, every, columns.group)
    drawn = draw_members(sums, solved, members, np.random.default_rng(seed))
    surface = build(drawn, columns, pairs, sample)
    contrast = torch.full((len(sample.y),), float("nan"))
    for fold in range(sample.count):
        rows = torch.where(sample.folds == fold)[0]
        without = relevant(sums, every * (sums.fold != fold), columns.group)
        held_out = build(without.mean[None], columns, pairs, sample)
        contrast[rows] = contrast_of(held_out, sample, rows)[0]
    progress("teacher: sparse surface", 2, 2)
    return Fit(surface, contrast)


def products(channels: int) -> Integers:
    """Pairs (k, l) whose products are curvature."""
    if channels > PAIRS:
        return np.repeat(np.arange(channels)[:, None], 2, axis=1)
    return np.stack(np.triu_indices(channels), axis=1)


def contrasts(sample: TeacherSample, pairs: Integers, wide: Floats) -> Floats:
    """z − e, q − E q and z³/3 − E z³/3.

    E q = q(e) + a regression of what residuals add, on [1, x, x²].
    """
    z = sample.z.double().numpy()
    e = sample.e.double().numpy()
    more = curves(z, pairs) - curves(e, pairs)
    design = np.column_stack([wide, np.square(wide[:, 1:])])
    root = np.sqrt(sample.weights.double().numpy())[:, None]
    gram = (design * root).T @ (design * root)
    gram[np.diag_indices(len(gram))] += 1e-6 * np.trace(gram) / len(gram)
    more -= design @ solve(gram, (design * root).T @ (more * root))
    return np.column_stack([z - e, more])


def curves(z: Floats, pairs: Integers) -> Floats:
    """q(z) and z³/3: (n, pairs + K)."""
    return np.column_stack([z[:, pairs[:, 0]] * z[:, pairs[:, 1]], z**3 / 3])


def choose_columns(
    wide: Floats,
    parts: Floats,
    residual: Floats,
    channels: int,
) -> SparseColumns:
    """All products, or the groups that alone explain most."""
    states = wide.shape[1]
    entries = parts.shape[1]
    kind = np.ones(entries, np.int64)  # curvature
    kind[:channels] = 0  # slope
    kind[entries - channels :] = 2  # cube
    state = np.repeat(np.arange(states), entries)
    part = np.tile(np.arange(entries), states)
    group = state * 3 + kind[part]
    most = min(MOST, len(wide) // 4)
    if len(state) > most:
        size_of_fit = np.square(wide).T @ np.square(parts) + 1e-12
        fit = np.square((wide * residual[:, None]).T @ parts) / size_of_fit
        size = np.bincount(group, minlength=3 * states)
        score = np.bincount(group, fit.ravel(), 3 * states) / np.maximum(size, 1)
        score[0] = np.inf  # slopes common to all states
        best = np.argsort(-score, kind="stable")
        kept = np.isin(group, best[np.cumsum(size[best]) <= max(most, size[0])])
        state = state[kept]
        part = part[kept]
        group = group[kept]
    return SparseColumns(state, part, np.unique(group, return_inverse=True)[1])


def sum_groups(
    wide: Floats,
    parts: Floats,
    residual: Floats,
    columns: SparseColumns,
    sample: TeacherSample,
) -> SparseSums:
    """One pass over the rows."""
    count = sample.count * GROUPS
    p = len(columns.state)
    code = sample.groups(GROUPS).numpy()
    weights = sample.weights.double().numpy()
    gram = np.zeros((count, p, p))
    moment = np.zeros((count, p))
    square = np.zeros(count)
    weight = np.zeros(count)
    for g in range(count):
        group = np.flatnonzero(code == g)
        for first in range(0, len(group), CHUNK):
            rows = group[first : first + CHUNK]
            root = np.sqrt(weights[rows])
            features = (
                wide[rows][:, columns.state] * parts[rows][:, columns.part] * root[:, None]
            )
            r = residual[rows] * root
            gram[g] += features.T @ features
            moment[g] += features.T @ r
            square[g] += r @ r
            weight[g] += weights[rows].sum()
    return SparseSums(gram, moment, square, weight, np.arange(count) // GROUPS)


def relevant(sums: SparseSums, counted: Floats, group: Integers) -> Coefficients:
    """Maximise the evidence of the groups of units counted (G,), by MacKay's turns."""
    gram = np.tensordot(counted, sums.gram, 1)
    moment = counted @ sums.moment
    square = float(counted @ sums.square)
    n = float(counted @ sums.weight)
    noise = max(square / max(n, 1.0), 1e-12)
    precision = np.ones(len(moment))
    mean = np.zeros(len(moment))
    for _ in range(TURNS):
        inverse = solve(gram / noise + np.diag(precision), np.eye(len(gram)))
        mean = inverse @ moment / noise
        used = np.bincount(group, 1 - precision * np.diag(inverse))
        size = np.bincount(group, np.square(mean))
        precision = np.clip(
            np.maximum(used, 1e-10) / np.maximum(size, 1e-100), WEAK, STRONG
        )[group]
        left = square - 2 * mean @ moment + mean @ gram @ mean
        noise = max(left / max(n - used.sum(), 1.0), 1e-12)
    return Coefficients(mean, precision, noise)


def draw_members(
    sums: SparseSums, solved: Coefficients, members: int, random: np.random.Generator
) -> Floats:
    """Coefficients (M, p) whose mean is the solution."""
    mean = solved.mean
    noise = solved.noise
    if members == 1:
        return mean[None]
    draws = np.empty((members, len(mean)))
    for i in range(members):
        counted = random.exponential(size=len(sums.fold))
        prior = np.sqrt(solved.precision) * random.standard_normal(len(mean))
        gram = np.tensordot(counted, sums.gram, 1) / noise + np.diag(solved.precision)
        draws[i] = solve(gram, counted @ sums.moment / noise + prior)
    return mean + (members / (members - 1)) ** 0.5 * (draws - draws.mean(axis=0))


def build(
    coefficients: Floats, columns: SparseColumns, pairs: Integers, sample: TeacherSample
) -> SparseSurface:
    """A surface of coefficients (M, p)."""
    M = len(coefficients)
    d = sample.x.shape[1] + 1
    K = sample.z.shape[1]
    whole = np.zeros((M, d, K + len(pairs) + K))
    whole[:, columns.state, columns.part] = coefficients
    bend = np.zeros((M, d, K, K))
    for entry, (k, l) in enumerate(pairs):
        bend[:, :, k, l] += whole[..., K + entry]
        bend[:, :, l, k] += whole[..., K + entry]
    return SparseSurface(
        slope=torch.from_numpy(whole[..., :K]).float(),
        bend=torch.from_numpy(bend).float(),
        cube=torch.from_numpy(whole[..., -K:]).float(),
    )
