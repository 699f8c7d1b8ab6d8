"""Who learns from what: one job fits a model without a fold and predicts that fold.

A job of fold i never sees fold i, and stops by a further fold h that it does not learn from either.
So nothing about the rows of fold i, not even the length of training, depends on them, and its
predictions for h are fair ground for stacking models for fold i. Folds hold whole units, so no unit
is on two sides.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from realloc.base.errors import LogError
from realloc.learn.nuisances.sample import FEW_ROWS, Floats, Indices, NuisanceSample

OnStep = Callable[[int, int], None]  # (done, total)


@dataclass(frozen=True)
class FitJob:
    """Rows to learn from, rows that say when to stop, rows to predict."""

    fold: int
    train: Indices
    held_out: Indices
    away: Indices


@dataclass(frozen=True)
class Prediction:
    """m (rows,) and e (rows, K) of one job: on the rows held out and on the fold that is away."""

    held_outcome: Floats
    held_shares: Floats
    outcome: Floats
    shares: Floats

    @classmethod
    def at(cls, job: FitJob, outcome: Floats, shares: Floats) -> "Prediction":
        """A job's part of predictions for all rows, (n,) and (n, K)."""
        return cls(
            outcome[job.held_out], shares[job.held_out], outcome[job.away], shares[job.away]
        )


def plan_jobs(sample: NuisanceSample, repeats: int, seed: int) -> list[FitJob]:
    """`repeats` jobs per fold, each with another fold held out."""
    folds = sample.folds
    if folds == 2:
        return _plan_halves(sample, seed)
    rows = [np.flatnonzero(sample.fold == i) for i in range(folds)]
    jobs: list[FitJob] = []
    for i in range(folds):
        for r in range(min(repeats, folds - 1)):
            h = (i + 1 + r) % folds
            train = np.flatnonzero((sample.fold != i) & (sample.fold != h))
            jobs.append(_plan_job(sample, i, train, rows[h]))
    return jobs


def _plan_halves(sample: NuisanceSample, seed: int) -> list[FitJob]:
    """With two folds none is left to stop by, so a fifth of the rows is held out.

    A unit may then be on both sides of training, but the fold away stays unseen.
    """
    random = np.random.default_rng([seed, 2])
    jobs: list[FitJob] = []
    for i in range(2):
        other = np.flatnonzero(sample.fold != i)
        held = np.zeros(len(other), dtype=bool)
        held[random.permutation(len(other))[: max(1, len(other) // 5)]] = True
        jobs.append(_plan_job(sample, i, other[~held], other[held]))
    return jobs


def _plan_job(
    sample: NuisanceSample,
    fold: int,
    train: Indices,
    held_out: Indices,
) -> FitJob:
    if len(train) < FEW_ROWS:
        raise LogError(
            f"Expected at least {FEW_ROWS} rows to learn from beside fold {fold} and the fold held "
            f"out, got {len(train)}. Use more rows, or more folds."
        )
    if not sample.weights[train].any() or not sample.weights[held_out].any():
        raise LogError(
            f"Expected weights above 0 among the rows beside fold {fold}, got only zeros."
        )
    return FitJob(fold, train, held_out, np.flatnonzero(sample.fold == fold))
