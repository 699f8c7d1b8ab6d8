"""m and e by gradient boosted trees (LightGBM): one booster for the outcome, one per channel, per fit.

All are boosted from a ridge regression: trees would spend most of their splits on what is smooth.
Shares are then clipped and scaled to the simplex.
"""

from typing import Any

import lightgbm as lgb
import numpy as np

from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.nuisances.jobs import FitJob, OnStep, Prediction
from realloc.learn.nuisances.link import LARGEST_LOG, OBJECTIVES
from realloc.learn.nuisances.ridge import RidgeStart
from realloc.learn.nuisances.sample import Floats, Indices, NuisanceSample, to_simplex

PATIENCE = 25
SMALLEST = 1e-6  # spread below which nothing is left but rounding


def fit_boosting(
    sample: NuisanceSample,
    jobs: list[FitJob],
    starts: list[RidgeStart],
    config: NuisanceConfig,
    seed: int,
    on_step: OnStep,
) -> list[Prediction]:
    """Fit one job after the other."""
    found: list[Prediction] = []
    for number, (job, start) in enumerate(zip(jobs, starts, strict=True)):
        trees = Trees(sample, job, config, seed + number)
        found.append(_fit_job(sample, trees, start))
        on_step(number + 1, len(jobs))
    return found


def _fit_job(sample: NuisanceSample, trees: "Trees", start: RidgeStart) -> Prediction:
    link = start.link
    z = link.forward(sample.outcome)
    if link.kind == "real":
        held, away = trees.boost_from(start.f[:, None], z[:, None])
        held, away = held[:, 0], away[:, 0]
    else:
        held, away = trees.boost_log(z, start.f, OBJECTIVES[link.kind])
    held_shares, shares = trees.boost_from(start.shares, sample.shares)
    return Prediction(link.mean(held), to_simplex(held_shares), link.mean(away), to_simplex(shares))


class Trees:
    """The rows of one job, binned once for all targets."""

    def __init__(
        self, sample: NuisanceSample, job: FitJob, config: NuisanceConfig, seed: int
    ) -> None:
        self.job, self.x, self.weights = job, sample.x, sample.weights
        self.rounds = config.trees
        self.options: dict[str, Any] = {
            "learning_rate": config.shrinkage,
            "num_leaves": config.leaves,
            "min_data_in_leaf": max(5, min(40, len(job.train) // 50)),
            "feature_fraction": 0.7,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "lambda_l2": 5.0,
            "tweedie_variance_power": 1.5,
            "seed": seed % 2**31,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbose": -1,
        }
        # Weights of mean one keep the regularisation what it is, whatever unit they come in.
        weights = sample.weights / sample.weights[job.train].mean()
        blank = np.zeros(len(self.x))
        self.train = lgb.Dataset(
            self.x[job.train],
            blank[job.train],
            weight=weights[job.train],
            params=self.options,
            free_raw_data=False,
        ).construct()
        self.held_out = lgb.Dataset(
            self.x[job.held_out],
            blank[job.held_out],
            weight=weights[job.held_out],
            reference=self.train,
            params=self.options,
            free_raw_data=False,
        ).construct()

    def boost_from(self, base: Floats, targets: Floats) -> tuple[Floats, Floats]:
        """Trees on what `base` leaves of targets (n, t): predictions of the rows held out and away."""
        rest = targets - base
        held, away = base[self.job.held_out], base[self.job.away]
        for k in range(targets.shape[1]):
            spread = float(rest[self.job.train, k].std())
            if spread > SMALLEST * (1 + np.abs(targets).max()):
                booster = self._fit(rest[:, k] / spread, np.zeros(len(rest)), "l2")
                held[:, k] += spread * self._raw(booster, self.job.held_out)
                away[:, k] += spread * self._raw(booster, self.job.away)
        return held, away

    def boost_log(self, z: Floats, f: Floats, objective: str) -> tuple[Floats, Floats]:
        """Trees on the log scale from f: means of z (n,), scaled so that they sum to what was seen."""
        job = self.job
        if np.ptp(z[job.train]) == 0:
            return np.full(len(job.held_out), z[job.train][0]), np.full(
                len(job.away), z[job.train][0]
            )
        booster = self._fit(z, f, objective)
        train, held, away = (
            np.exp(np.clip(f[rows] + self._raw(booster, rows), -LARGEST_LOG, LARGEST_LOG))
            for rows in (job.train, job.held_out, job.away)
        )
        # Trees stopped early lean towards their start: the total is put right by what was learned from.
        seen, weights = np.r_[job.train, job.held_out], self.weights
        factor = (weights[seen] @ z[seen]) / (weights[seen] @ np.r_[train, held])
        return factor * held, factor * away

    def _fit(self, target: Floats, start: Floats, objective: str) -> lgb.Booster:
        for part, rows in ((self.train, self.job.train), (self.held_out, self.job.held_out)):
            part.set_label(target[rows]).set_init_score(start[rows])
        return lgb.train(
            {**self.options, "objective": objective},
            self.train,
            self.rounds,
            valid_sets=[self.held_out],
            callbacks=[lgb.early_stopping(PATIENCE, verbose=False)],
        )

    def _raw(self, booster: lgb.Booster, rows: Indices) -> Floats:
        """What trees add to their start."""
        return np.asarray(
            booster.predict(self.x[rows], raw_score=True, num_threads=1), dtype=np.float64
        )
