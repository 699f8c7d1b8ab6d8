"""m and e by gradient boosted trees (LightGBM): one booster for the outcome, one per channel, per
fit.

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
    predictions: list[Prediction] = []
    for number, (job, start) in enumerate(zip(jobs, starts, strict=True)):
        link = start.link
        trees = Trees(sample, job, config, seed + number)
        z = trees.boost_outcome(link.forward(sample.outcome), start)
        shares = trees.boost_from(start.shares, sample.shares)
        predictions.append(Prediction.at(job, link.mean(z), to_simplex(shares)))
        on_step(number + 1, len(jobs))
    return predictions


class Trees:
    """The rows of one job, binned once for all targets."""

    def __init__(
        self, sample: NuisanceSample, job: FitJob, config: NuisanceConfig, seed: int
    ) -> None:
        self.job = job
        self.x = sample.x
        self.weights = sample.weights
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
        self.mean_weight = sample.weights[job.train].mean()
        self.train = self._dataset(job.train, None)
        self.held_out = self._dataset(job.held_out, self.train)

    def boost_outcome(self, z: Floats, start: RidgeStart) -> Floats:
        """Means of z (n,), boosted from the ridge start."""
        kind = start.link.kind
        if kind == "real":
            return self.boost_from(start.f[:, None], z[:, None])[:, 0]
        return self.boost_log(z, start.f, OBJECTIVES[kind])

    def boost_from(self, base: Floats, targets: Floats) -> Floats:
        """Predictions of targets (n, t): `base`, and trees on the rest for rows not learned."""
        rest = targets - base
        predicted = base.copy()
        for k in range(targets.shape[1]):
            spread = float(rest[self.job.train, k].std())
            if spread > SMALLEST * (1 + np.abs(targets).max()):
                booster = self._fit(rest[:, k] / spread, np.zeros(len(rest)), "l2")
                for rows in (self.job.held_out, self.job.away):
                    predicted[rows, k] += spread * self._raw(booster, rows)
        return predicted

    def boost_log(self, z: Floats, f: Floats, objective: str) -> Floats:
        """Means of z (n,) by trees on the log scale from f, with the total that was seen."""
        job = self.job
        if np.ptp(z[job.train]) == 0:
            return np.full(len(z), z[job.train][0])
        booster = self._fit(z, f, objective)
        means = np.empty(len(z))
        for rows in (job.train, job.held_out, job.away):
            logs = np.clip(f[rows] + self._raw(booster, rows), -LARGEST_LOG, LARGEST_LOG)
            means[rows] = np.exp(logs)
        # Trees stopped early stay near their start: scale them to the total of the rows seen.
        seen = np.r_[job.train, job.held_out]
        weights = self.weights[seen]
        return (weights @ z[seen]) / (weights @ means[seen]) * means

    def _dataset(self, rows: Indices, reference: lgb.Dataset | None) -> lgb.Dataset:
        return lgb.Dataset(
            self.x[rows],
            np.zeros(len(rows)),
            weight=self.weights[rows] / self.mean_weight,
            reference=reference,
            params=self.options,
            free_raw_data=False,
        ).construct()

    def _fit(self, target: Floats, start: Floats, objective: str) -> lgb.Booster:
        for part, rows in (
            (self.train, self.job.train),
            (self.held_out, self.job.held_out),
        ):
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
        added = booster.predict(self.x[rows], raw_score=True, num_threads=1)
        return np.asarray(added, dtype=np.float64)
