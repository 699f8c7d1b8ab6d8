"""m(H,B) ≈ E[Y|H,B] and e(H,B) ≈ E[p|H,B], cross-fitted by unit.

Every row's prediction comes from models, stopping points and stack weights that no row of its fold had a part in.
"""

import zlib
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from realloc.base.progress import Progress, silent
from realloc.learn.nuisances.boosting import fit_boosting
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.nuisances.diagnostics import Candidates, Diagnostics, diagnose
from realloc.learn.nuisances.jobs import FitJob, Prediction, plan_jobs
from realloc.learn.nuisances.network import fit_networks
from realloc.learn.nuisances.ridge import RidgeStart, fit_start, predict_ridge
from realloc.learn.nuisances.sample import (
    Floats,
    Indices,
    NuisanceSample,
    check_outcome,
    check_sample,
)
from realloc.learn.nuisances.stacking import choose, gram, simplex_weights

FITS = {"network": fit_networks, "boosting": fit_boosting}


@dataclass(frozen=True)
class Nuisances:
    """Out-of-fold predictions: outcome m (n,) in units of the outcome, shares e (n, K) on the simplex."""

    outcome: Floats
    shares: Floats
    diagnostics: Diagnostics


def cross_fit(
    x: NDArray[np.float32],
    shares: Floats,
    outcome: Floats,
    folds: Indices,
    config: NuisanceConfig | None = None,
    seed: int = 0,
    weights: Floats | None = None,
    progress: Progress = silent,
) -> Nuisances:
    """Fit every candidate without each fold, stack them, and say how good they are."""
    config = config or NuisanceConfig()
    sample = check_sample(x, shares, outcome, folds, weights, config.folds)
    check_outcome(sample.outcome, config.outcome)
    jobs = plan_jobs(sample, config.repeats, seed)
    fitted = _fit(sample, jobs, config, seed, progress)
    m, outcome_candidates = _combine(sample, jobs, fitted, config.models, "outcome")
    e, share_candidates = _combine(sample, jobs, fitted, config.models, "shares")
    e = e / e.sum(axis=1, keepdims=True)
    competed = {"outcome": outcome_candidates, "shares": share_candidates}
    return Nuisances(m, e, diagnose(sample, m, e, competed))


def _fit(
    sample: NuisanceSample,
    jobs: list[FitJob],
    config: NuisanceConfig,
    seed: int,
    progress: Progress,
) -> list[list[Prediction]]:
    """The predictions of every model for every job."""
    starts: list[RidgeStart] = []
    for job in jobs:
        starts.append(fit_start(sample, job, config.outcome))
        progress("nuisances: ridge", len(starts), len(jobs))
    found: list[list[Prediction]] = []
    for name in config.models:
        if name == "ridge":
            found.append(
                [predict_ridge(job, start) for job, start in zip(jobs, starts, strict=True)]
            )
            continue
        own = int(np.random.SeedSequence([seed, zlib.crc32(name.encode())]).generate_state(1)[0])
        report = partial(progress, f"nuisances: {name}")
        found.append(FITS[name](sample, jobs, starts, config, own, report))
    return found


def _combine(
    sample: NuisanceSample,
    jobs: list[FitJob],
    fitted: list[list[Prediction]],
    names: tuple[str, ...],
    target: str,
) -> tuple[Floats, Candidates]:
    """Weigh the models for each fold by what its own jobs predicted for the rows they held out."""
    truth: Floats = getattr(sample, target)
    away = np.zeros((len(names), *truth.shape))  # every model's out-of-fold predictions
    mixed, stacked = np.zeros_like(truth), np.zeros_like(truth)
    chosen: list[str] = []
    weights: list[Floats] = []
    for fold in range(sample.folds):
        mine = [number for number, job in enumerate(jobs) if job.fold == fold]
        rows = jobs[mine[0]].away
        for model, found in enumerate(fitted):
            away[model, rows] = np.mean([getattr(found[number], target) for number in mine], axis=0)
        parts = [
            _part(sample, jobs[number], [found[number] for found in fitted], target)
            for number in mine
        ]
        choice = choose(parts, names)
        mixed[rows] = np.tensordot(choice.weights, away[:, rows], axes=1)
        stacked[rows] = np.tensordot(simplex_weights(np.sum(parts, axis=0)), away[:, rows], axes=1)
        chosen.append(choice.name)
        weights.append(choice.weights)
    errors = {name: _error(truth, away[i], sample.weights) for i, name in enumerate(names)}
    if len(names) > 1:
        errors |= {
            "stack": _error(truth, stacked, sample.weights),
            "chosen": _error(truth, mixed, sample.weights),
        }
    mean = {
        name: float(weight) for name, weight in zip(names, np.mean(weights, axis=0), strict=True)
    }
    return mixed, Candidates(errors, mean, tuple(chosen))


def _part(sample: NuisanceSample, job: FitJob, found: list[Prediction], target: str) -> Floats:
    """The models' error matrix on the rows that a job held out."""
    predicted = np.stack([getattr(prediction, f"held_{target}") for prediction in found])
    truth: Floats = getattr(sample, target)
    return gram(truth[job.held_out] - predicted, sample.weights[job.held_out])


def _error(truth: Floats, predicted: Floats, weights: Floats) -> float:
    """Mean squared error per row (and channel)."""
    return float(
        np.average(((truth - predicted) ** 2).reshape(len(truth), -1).mean(axis=1), weights=weights)
    )
