"""ConstantField: one marginal value per channel for everybody, by linear orthogonal regression.

Robinson's transformation with linear nuisances: ỹ = y − m̂(x), p̃ = p − ê(x), cross-fitted by unit, then
β = argmin Σ(ỹ − βᵀQᵀp̃)², g = Qβ. Standard errors are clustered by unit. The simplest policy that is not naive about
confounding; it moves one small step along the best edge where the lower bound of its gain is above zero.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base import simplex
from realloc.baselines.fitted import Fitted
from realloc.decide.types import Decision, keep
from realloc.logs import Logs, unit_folds

Floats = NDArray[np.float64]


class ConstantField(Fitted):
    """Move `step` along the one edge that the log as a whole favours."""

    def __init__(
        self, step: float = 0.05, confidence: float = 1.645, least_support: float = 0.05
    ) -> None:
        self.step, self.confidence, self.least_support = step, confidence, least_support
        self.field: Floats = np.empty(0)
        self.covariance: Floats = np.empty((0, 0))

    def learn(self, logs: Logs) -> None:
        """Estimate the field g and its covariance, and how far logged shares lie from their centre."""
        Q = simplex.tangent_basis(len(logs.schema.channels))
        design = _design(logs)
        folds = unit_folds(logs, min(5, logs.unit_count))
        y = logs.outcome - _cross_fit(design, logs.outcome[:, None], folds)[:, 0]
        z = (logs.shares - _cross_fit(design, logs.shares, folds)) @ Q
        gram = np.linalg.pinv(z.T @ z)
        beta = gram @ (z.T @ y)
        scores = z * (y - z @ beta)[:, None]
        clustered = np.stack(
            [np.bincount(logs.unit_codes, weights=column) for column in scores.T], axis=1
        )
        self.field = Q @ beta
        self.covariance = Q @ gram @ (clustered.T @ clustered) @ gram @ Q.T
        self.centre = logs.shares.mean(axis=0)
        self.precision = np.linalg.pinv(np.cov(logs.shares.T))
        self.distances = np.sort(self._distance(logs.shares))
        self.used = (logs.shares > 0).any(axis=0)

    def decide(self, logs: Logs) -> Decision:
        """One step along the best edge, where the source holds it, the target is in use, and the end has support."""
        kept = keep(logs, "no_gain")
        pairs, directions = simplex.edges(len(self.field)), simplex.edge_directions(len(self.field))
        gain = directions @ self.field * self.step
        error = (
            np.sqrt(np.einsum("ek,kl,el->e", directions, self.covariance, directions)) * self.step
        )
        lower = gain - self.confidence * error
        best = int(np.argmax(lower))
        k, l = pairs[best]
        able = (logs.shares[:, k] >= self.step) & (logs.shares[:, l] > 0)
        end = np.where(able[:, None], logs.shares + self.step * directions[best], logs.shares)
        support = 1 - np.searchsorted(self.distances, self._distance(end), side="left") / len(
            self.distances
        )
        reason = np.select(
            [
                np.full(len(logs), gain[best] <= 0),
                np.full(len(logs), lower[best] <= 0),
                ~able,
                support < self.least_support,
            ],
            ["no_gain", "uncertain", "constrained", "unsupported"],
            "moved",
        )
        return replace(
            kept,
            shares=end,
            gain=np.full(len(logs), gain[best]),
            gain_lower=np.full(len(logs), lower[best]),
            support=support,
            steps=np.ones(len(logs), dtype=np.int64),
            reason=reason,
        )

    def _distance(self, shares: Floats) -> Floats:
        off = shares - self.centre
        return np.einsum("nk,kl,nl->n", off, self.precision, off)


def _design(logs: Logs) -> Floats:
    """Intercept, log budget, and the numeric features standardised with missing ones at their mean."""
    columns = [np.ones(len(logs)), np.log(logs.budget)]
    for name in logs.features:
        column = logs.table[name]
        if pa.types.is_floating(column.type) or pa.types.is_boolean(column.type):
            values = column.to_numpy().astype(np.float64)
            spread = np.nanstd(values)
            if spread > 0:
                scaled = (values - np.nanmean(values)) / spread
                columns += [np.nan_to_num(scaled), np.nan_to_num(np.square(scaled))]
    return np.stack(columns, axis=1)


def _cross_fit(
    design: Floats, target: Floats, folds: NDArray[np.int64], ridge: float = 1.0
) -> Floats:
    """Ridge predictions for each fold from the others."""
    predicted = np.empty_like(target)
    penalty = ridge * np.eye(design.shape[1])
    for fold in np.unique(folds):
        train = folds != fold
        weights = np.linalg.solve(
            design[train].T @ design[train] + penalty, design[train].T @ target[train]
        )
        predicted[~train] = design[~train] @ weights
    return predicted
