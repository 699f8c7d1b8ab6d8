"""m and e by ridge regression on features and, where rows allow, their products.

min_b Σ w (t − b₀ − φ(x)·b)² / Σ w + λ ‖b‖² with φ standardised

λ and φ (linear, squares, all products) are chosen by the rows held out. Networks and trees start
from it: most of what features say is smooth, and they only need to learn the rest.
"""

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from realloc.learn.nuisances.jobs import FitJob, Prediction
from realloc.learn.nuisances.link import LARGEST_LOG, Link, fit_link
from realloc.learn.nuisances.sample import Floats, Indices, NuisanceSample, to_simplex
from realloc.learn.scaling import Floats32

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
MOST_COLUMNS = 600
ROWS_PER_COLUMN = 10
# Standard deviations at which products stop growing, so that one odd row cannot rule a fit.
FARTHEST = 4.0
LEAST = 0.1  # of the mean outcome: where a start on the log scale begins
CHUNK = 16_384


@dataclass(frozen=True)
class Moments:
    """Of rows: total weight, means of φ (p,) and targets (t,), and sums of products around them."""

    weight: float
    center: Floats
    level: Floats
    gram: Floats  # (p, p)
    cross: Floats  # (p, t)
    squares: Floats  # (t,)

    def __add__(self, other: "Moments") -> "Moments":
        weight = self.weight + other.weight
        share = other.weight / weight
        apart = other.center - self.center
        higher = other.level - self.level
        between = share * self.weight
        return Moments(
            weight,
            self.center + share * apart,
            self.level + share * higher,
            self.gram + other.gram + between * np.outer(apart, apart),
            self.cross + other.cross + between * np.outer(apart, higher),
            self.squares + other.squares + between * higher**2,
        )

    def take(self, columns: Indices) -> "Moments":
        """The same with some of the columns of φ."""
        gram = self.gram[np.ix_(columns, columns)]
        cross = self.cross[columns]
        return Moments(
            self.weight, self.center[columns], self.level, gram, cross, self.squares
        )

    def error(self, line: "Line") -> Floats:
        """Σ w (t − a − φ·b)² of every target (t,)."""
        b = line.slopes
        missed = self.level - line.offset - self.center @ b
        spread = self.squares - 2 * (self.cross * b).sum(axis=0)
        return self.weight * missed**2 + spread + ((self.gram @ b) * b).sum(axis=0)


@dataclass(frozen=True)
class Line:
    """t ≈ a + φ·b for every target: a (t,), b (p, t)."""

    offset: Floats
    slopes: Floats


@dataclass(frozen=True)
class RidgeStart:
    """Where the models of a job start, for all rows."""

    link: Link
    f: Floats  # (n,) on the link's scale
    shares: Floats  # (n, K), not yet on the simplex


def fit_starts(sample: NuisanceSample, jobs: list[FitJob], kind: str) -> list[RidgeStart]:
    """Ridge regressions of all jobs."""
    # Ridge follows a target's scale, so that one regression is right on every job's scale.
    targets = np.column_stack([sample.outcome, sample.shares])
    smooth = fit_smooth(sample, jobs, targets, [slice(0, 1), slice(1, None)])
    starts: list[RidgeStart] = []
    for job, found in zip(jobs, smooth, strict=True):
        link = fit_link(kind, sample.outcome[job.train], sample.weights[job.train])
        f = link.forward(found[:, 0])
        if kind != "real":
            f = np.log(np.clip(f, LEAST, np.exp(LARGEST_LOG)))
        starts.append(RidgeStart(link, f, found[:, 1:]))
    return starts


def predict_ridge(job: FitJob, start: RidgeStart) -> Prediction:
    """The start as a model of its own."""
    z = start.f if start.link.kind == "real" else np.exp(start.f)
    return Prediction.at(job, start.link.mean(z), to_simplex(start.shares))


def fit_smooth(
    sample: NuisanceSample, jobs: list[FitJob], targets: Floats, groups: list[slice]
) -> list[Floats]:
    """Each job's predictions (n, t) for all rows of targets (n, t).

    Each group of targets has its own φ and λ. Rows are read twice, whatever the number of jobs:
    jobs learn from moments of the same parts of the rows.
    """
    choices = expansions(sample.x.shape[1], min(len(job.train) for job in jobs))
    pairs = choices[-1]
    part, trains, holds = _divide(len(sample.x), jobs)
    moments = _parts_moments(sample, targets, pairs, part)
    columns = _columns(sample, choices)
    lines = [
        _best_line(_total(moments, train), _total(moments, held), columns, groups)
        for train, held in zip(trains, holds, strict=True)
    ]
    slopes = np.concatenate([line.slopes for line in lines], axis=1)
    found = np.concatenate(
        [
            _expand(sample.x[first : first + CHUNK], pairs) @ slopes
            for first in range(0, len(sample.x), CHUNK)
        ]
    )
    parts = np.split(found, len(jobs), axis=1)
    return [own + line.offset for own, line in zip(parts, lines, strict=True)]


def expansions(d: int, rows: int) -> list[Indices]:
    """Sets of products (2, p) that this many rows allow: none, squares, all."""
    squares = np.tile(np.arange(d), (2, 1))
    options = [squares[:, :0], squares, np.stack(np.triu_indices(d))]
    most = min(MOST_COLUMNS, rows // ROWS_PER_COLUMN)
    return [options[0], *[pairs for pairs in options[1:] if d + pairs.shape[1] <= most]]


def _columns(sample: NuisanceSample, choices: list[Indices]) -> list[Indices]:
    """Where each set of products stands among the columns of the largest."""
    d = sample.x.shape[1]
    place = {(i, j): d + number for number, (i, j) in enumerate(choices[-1].T.tolist())}
    return [
        np.array([*range(d), *(place[i, j] for i, j in pairs.T.tolist())])
        for pairs in choices
    ]


def _divide(n: int, jobs: list[FitJob]) -> tuple[Indices, list[Indices], list[Indices]]:
    """The part (n,) of every row, and of each job the parts it learns from and is judged by.

    Rows of one part play the same role in every job.
    """
    part = np.zeros(n, dtype=np.int64)
    roles = np.zeros((len(jobs), n), dtype=np.int64)
    for role, job in zip(roles, jobs, strict=True):
        role[job.train] = 1
        role[job.held_out] = 2
        part = np.unique(3 * part + role, return_inverse=True)[1]
    _, first = np.unique(part, return_index=True)
    of_part = roles[:, first]
    trains = [np.flatnonzero(role == 1) for role in of_part]
    return part, trains, [np.flatnonzero(role == 2) for role in of_part]


def _expand(x: Floats32, pairs: Indices) -> Floats:
    near = np.clip(x, -FARTHEST, FARTHEST).astype(np.float64)
    return np.concatenate(
        [x.astype(np.float64), near[:, pairs[0]] * near[:, pairs[1]]], axis=1
    )


def _parts_moments(
    sample: NuisanceSample, targets: Floats, pairs: Indices, part: Indices
) -> list[Moments]:
    found: list[Moments] = []
    for number in range(int(part.max()) + 1):
        own = np.flatnonzero(part == number)
        chunks = np.array_split(own, len(own) // CHUNK + 1)
        found.append(_total([_moments(sample, targets, pairs, rows) for rows in chunks]))
    return found


def _moments(
    sample: NuisanceSample, targets: Floats, pairs: Indices, rows: Indices
) -> Moments:
    w = sample.weights[rows]
    weight = float(w.sum())
    phi = _expand(sample.x[rows], pairs)
    center = w @ phi / weight
    phi -= center
    level = w @ targets[rows] / weight
    own = targets[rows] - level
    weighted = phi * w[:, None]
    return Moments(
        weight, center, level, weighted.T @ phi, weighted.T @ own, w @ np.square(own)
    )


def _total(moments: list[Moments], which: Indices | None = None) -> Moments:
    chosen = moments if which is None else [moments[number] for number in which]
    return reduce(add, chosen)


def _best_line(
    train: Moments, held: Moments, columns: list[Indices], groups: list[slice]
) -> Line:
    """The φ and λ of each group of targets with the least error on the rows held out."""
    least = [np.inf] * len(groups)
    best = Line(np.zeros_like(train.level), np.zeros_like(train.cross))
    for own in columns:
        judged = held.take(own)
        for line in _solutions(train.take(own)):
            errors = judged.error(line)
            for number, group in enumerate(groups):
                error = float(errors[group].sum())
                if error < least[number]:
                    least[number] = error
                    best.offset[group] = line.offset[group]
                    best.slopes[:, group] = 0.0
                    best.slopes[own, group] = line.slopes[:, group]
    return best


def _solutions(moments: Moments) -> list[Line]:
    """Lines for every penalty, from one decomposition; constant columns get no slope."""
    covariance = moments.gram / moments.weight
    cross = moments.cross / moments.weight
    variance = np.diag(covariance)
    second = variance + moments.center**2
    scale = np.where(
        variance > 1e-10 * second, np.sqrt(np.maximum(variance, 1e-300)), np.inf
    )
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    rotated = vectors.T @ (cross / scale[:, None])
    lines: list[Line] = []
    for penalty in PENALTIES:
        shrunk = rotated / (np.maximum(values, 0) + penalty)[:, None]
        slopes = (vectors @ shrunk) / scale[:, None]
        lines.append(Line(moments.level - moments.center @ slopes, slopes))
    return lines
