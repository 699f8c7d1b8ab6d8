"""m and e by a regressor of scikit-learn (see `regressor_call.py`).

It learns what the ridge regression leaves: one fit for the outcome and one per channel.
"""

from typing import Any

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.imports import need
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.nuisances.jobs import FitJob, OnStep, Prediction
from realloc.learn.nuisances.regressor_call import parse_regressor
from realloc.learn.nuisances.ridge import RidgeStart
from realloc.learn.nuisances.sample import Floats, NuisanceSample, to_simplex
from realloc.learn.scaling import Floats32

LEAST_MEAN = 1e-3  # of the mean outcome, where outcomes are never negative


def fit_regressor(
    text: str,
    sample: NuisanceSample,
    jobs: list[FitJob],
    starts: list[RidgeStart],
    config: NuisanceConfig,
    seed: int,
    on_step: OnStep,
) -> list[Prediction]:
    """Fit one job after the other."""
    call = parse_regressor(text)
    predictions: list[Prediction] = []
    for number, (job, start) in enumerate(zip(jobs, starts, strict=True)):
        regressor = call.make(seed + number)
        z = start.link.forward(sample.outcome)
        base = start.f if config.outcome == "real" else np.exp(start.f)
        mean = add_rest(regressor, sample, job, base[:, None], z[:, None])[:, 0]
        if config.outcome != "real":
            mean = np.maximum(mean, LEAST_MEAN)
        shares = add_rest(regressor, sample, job, start.shares, sample.shares)
        predictions.append(Prediction.at(job, start.link.mean(mean), to_simplex(shares)))
        on_step(number + 1, len(jobs))
    return predictions


def add_rest(
    regressor: Any, sample: NuisanceSample, job: FitJob, base: Floats, targets: Floats
) -> Floats:
    """Predictions of targets (n, t): `base`, and the regressor on what it leaves."""
    clone = need("sklearn.base", "learners").clone
    rest = (targets - base)[job.train]
    weights = sample.weights[job.train] / sample.weights[job.train].mean()
    predicted = base.copy()
    rows = np.r_[job.held_out, job.away]
    for k in range(targets.shape[1]):
        spread = float(rest[:, k].std())
        if spread > 0:
            fitted = clone(regressor)
            fit(fitted, sample.x[job.train], rest[:, k] / spread, weights)
            predicted[rows, k] += spread * np.asarray(fitted.predict(sample.x[rows]))
    return predicted


def fit(regressor: Any, x: Floats32, target: Floats, weights: Floats) -> None:
    """Fit with weights; a regressor that takes none must not be handed unequal ones."""
    if np.ptp(weights) == 0:
        regressor.fit(x, target)
        return
    if not need("sklearn.utils.validation", "learners").has_fit_parameter(
        regressor, "sample_weight"
    ):
        raise ConfigError(
            f"Expected a regressor that takes weights, but {type(regressor).__name__} in "
            "`models` of [nuisances] does not. Leave `weights` out, or take another one."
        )
    regressor.fit(x, target, sample_weight=weights)
