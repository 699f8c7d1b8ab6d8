"""m(H,B) ≈ E[Y|H,B] and e(H,B) ≈ E[p|H,B], cross-fitted by unit.

Every row's prediction comes from models, stopping points and stack weights that no row of its fold
had a part in.
"""

import zlib
from dataclasses import dataclass
from functools import partial

import numpy as np

from realloc.base.progress import Progress, silent
from realloc.learn.nuisances.boosting import fit_boosting
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.nuisances.diagnostics import Candidates, Diagnostics, diagnose
from realloc.learn.nuisances.jobs import FitJob, Prediction, plan_jobs
from realloc.learn.nuisances.network import fit_networks
from realloc.learn.nuisances.regressor import fit_regressor
from realloc.learn.nuisances.ridge import fit_starts, predict_ridge
from realloc.learn.nuisances.sample import (
    Floats,
    Indices,
    NuisanceSample,
    check_outcome,
    check_sample,
)
from realloc.learn.nuisances.stacking import StackingChoice, choose, gram, simplex_weights
from realloc.learn.scaling import Floats32

FITS = {"network": fit_networks, "boosting": fit_boosting}


@dataclass(frozen=True)
class Nuisances:
    """Out-of-fold predictions: m (n,) in units of the outcome, e (n, K) on the simplex."""

    outcome: Floats
    shares: Floats
    diagnostics: Diagnostics


def cross_fit(
    x: Floats32,
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
    sample = check_sample(x, shares, outcome, folds, weights)
    check_outcome(sample.outcome, config.outcome)
    jobs = plan_jobs(sample, config.repeats, seed)
    fitted = _fit(sample, jobs, config, seed, progress)
    m, outcome_candidates = _combine(
        sample,
        jobs,
        fitted,
        config.models,
        "outcome",
    )
    e, share_candidates = _combine(sample, jobs, fitted, config.models, "shares")
    e = e / e.sum(axis=1, keepdims=True)
    return Nuisances(
        m,
        e,
        diagnose(
            sample,
            m,
            e,
            outcome_candidates,
            share_candidates,
        ),
    )


def _fit(
    sample: NuisanceSample,
    jobs: list[FitJob],
    config: NuisanceConfig,
    seed: int,
    progress: Progress,
) -> list[list[Prediction]]:
    """The predictions of every model for every job."""
    starts = fit_starts(sample, jobs, config.outcome)
    progress("nuisances: ridge", 1, 1)
    fitted: list[list[Prediction]] = []
    for name in config.models:
        if name == "ridge":
            fitted.append(list(map(predict_ridge, jobs, starts)))
            continue
        entropy = np.random.SeedSequence([seed, zlib.crc32(name.encode())])
        model_seed = int(entropy.generate_state(1)[0])
        report = partial(progress, f"nuisances: {name}")
        fit = FITS.get(name) or partial(fit_regressor, name)
        fitted.append(fit(sample, jobs, starts, config, model_seed, report))
    return fitted


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
    mixed = np.zeros_like(truth)
    stacked = np.zeros_like(truth)
    choices: list[StackingChoice] = []
    for fold in range(sample.folds):
        numbers = [number for number, job in enumerate(jobs) if job.fold == fold]
        rows = jobs[numbers[0]].away
        for model, predictions in enumerate(fitted):
            repeated = [getattr(predictions[number], target) for number in numbers]
            away[model, rows] = np.mean(repeated, axis=0)
        parts: list[Floats] = []
        for number in numbers:
            held_out = jobs[number].held_out
            predicted = [getattr(model[number], f"held_{target}") for model in fitted]
            residuals = truth[held_out] - np.stack(predicted)
            parts.append(gram(residuals, sample.weights[held_out]))
        choice = choose(parts, names)
        choices.append(choice)
        mixed[rows] = np.tensordot(choice.weights, away[:, rows], axes=1)
        stacked[rows] = np.tensordot(
            simplex_weights(np.sum(parts, axis=0)), away[:, rows], axes=1
        )

    def error(predicted: Floats) -> float:
        squares = ((truth - predicted) ** 2).reshape(len(truth), -1)
        return float(np.average(squares.mean(axis=1), weights=sample.weights))

    errors = {name: error(away[i]) for i, name in enumerate(names)}
    if len(names) > 1:
        errors |= {"stack": error(stacked), "chosen": error(mixed)}
    weights: Floats = np.mean([choice.weights for choice in choices], axis=0)
    mean = dict(zip(names, weights.tolist(), strict=True))
    return mixed, Candidates(errors, mean, tuple(choice.name for choice in choices))
