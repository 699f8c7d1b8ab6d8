"""m and e by ridge regression on features and, where rows allow, their products.

min_b Σ w (t − b₀ − φ(x)·b)² / Σ w + λ ‖b‖² with φ standardised

λ and φ (linear, squares, all products) are chosen by the rows held out. Networks and trees start
from it: most of what features say is smooth, and they only need to learn the rest.
"""

from dataclasses import dataclass

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
    """Weighted means and covariances of φ (p,) and targets (t,)."""

    center: Floats
    level: Floats
    covariance: Floats
    cross: Floats


@dataclass(frozen=True)
class RidgeStart:
    """Where the models of a job start, for all rows."""

    link: Link
    f: Floats  # (n,) on the link's scale
    shares: Floats  # (n, K), not yet on the simplex


def fit_start(sample: NuisanceSample, job: FitJob, kind: str) -> RidgeStart:
    """Ridge regressions of one job."""
    link = fit_link(kind, sample.outcome[job.train], sample.weights[job.train])
    targets = np.column_stack([link.forward(sample.outcome), sample.shares])
    smooth = fit_smooth(sample, job, targets, [slice(0, 1), slice(1, None)])
    f = smooth[:, 0]
    if kind != "real":
        f = np.log(np.clip(f, LEAST, np.exp(LARGEST_LOG)))
    return RidgeStart(link, f, smooth[:, 1:])


def predict_ridge(job: FitJob, start: RidgeStart) -> Prediction:
    """The start as a model of its own."""
    z = start.f if start.link.kind == "real" else np.exp(start.f)
    return Prediction.at(job, start.link.mean(z), to_simplex(start.shares))


def fit_smooth(
    sample: NuisanceSample,
    job: FitJob,
    targets: Floats,
    groups: list[slice],
) -> Floats:
    """Predictions (n, t) for all rows of targets (n, t); each group has its own φ and λ."""
    truth = targets[job.held_out]
    weights = sample.weights[job.held_out][:, None]
    least = [np.inf] * len(groups)
    predicted = np.zeros_like(targets)
    for pairs in expansions(sample.x.shape[1], len(job.train)):
        moments = _moments(sample, job.train, targets, pairs)
        held_out = _expand(sample.x[job.held_out], pairs) - moments.center
        # Slopes of the best penalty so far, zero where this φ is no better.
        best = np.zeros_like(moments.cross)
        better: set[int] = set()
        for slopes in _solutions(moments):
            errors = weights * (truth - moments.level - held_out @ slopes) ** 2
            for number, group in enumerate(groups):
                error = float(errors[:, group].sum())
                if error < least[number]:
                    least[number] = error
                    best[:, group] = slopes[:, group]
                    better.add(number)
        if better:
            values = _predict(sample.x, pairs, moments, best)
            for number in better:
                predicted[:, groups[number]] = values[:, groups[number]]
    return predicted


def expansions(d: int, rows: int) -> list[Indices]:
    """Sets of products (2, p) that this many rows allow: none, squares, all."""
    squares = np.tile(np.arange(d), (2, 1))
    options = [squares[:, :0], squares, np.stack(np.triu_indices(d))]
    most = min(MOST_COLUMNS, rows // ROWS_PER_COLUMN)
    return [options[0], *[pairs for pairs in options[1:] if d + pairs.shape[1] <= most]]


def _expand(x: Floats32, pairs: Indices) -> Floats:
    near = np.clip(x, -FARTHEST, FARTHEST).astype(np.float64)
    return np.concatenate(
        [x.astype(np.float64), near[:, pairs[0]] * near[:, pairs[1]]], axis=1
    )


def _moments(
    sample: NuisanceSample,
    rows: Indices,
    targets: Floats,
    pairs: Indices,
) -> Moments:
    columns = sample.x.shape[1] + pairs.shape[1]
    total = np.zeros(columns)
    level = np.zeros(targets.shape[1])
    square = np.zeros((columns, columns))
    cross = np.zeros((columns, targets.shape[1]))
    share = sample.weights[rows] / sample.weights[rows].sum()
    for first in range(0, len(rows), CHUNK):
        part = rows[first : first + CHUNK]
        w = share[first : first + CHUNK, None]
        phi = _expand(sample.x[part], pairs)
        weighted = w * phi
        total += weighted.sum(axis=0)
        level += (w * targets[part]).sum(axis=0)
        square += weighted.T @ phi
        cross += weighted.T @ targets[part]
    return Moments(
        total, level, square - np.outer(total, total), cross - np.outer(total, level)
    )


def _solutions(moments: Moments) -> list[Floats]:
    """Slopes (p, t) for every penalty, from one decomposition; constant columns get none."""
    variance = np.diag(moments.covariance)
    second = variance + moments.center**2
    scale = np.where(
        variance > 1e-10 * second, np.sqrt(np.maximum(variance, 1e-300)), np.inf
    )
    values, vectors = np.linalg.eigh(moments.covariance / np.outer(scale, scale))
    rotated = vectors.T @ (moments.cross / scale[:, None])
    return [
        (vectors @ (rotated / (np.maximum(values, 0) + penalty)[:, None])) / scale[:, None]
        for penalty in PENALTIES
    ]


def _predict(
    x: Floats32,
    pairs: Indices,
    moments: Moments,
    slopes: Floats,
) -> Floats:
    parts = [
        moments.level + (_expand(x[first : first + CHUNK], pairs) - moments.center) @ slopes
        for first in range(0, len(x), CHUNK)
    ]
    return np.concatenate(parts)
