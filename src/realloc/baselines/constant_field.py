"""ConstantField: one marginal value per channel for everybody, by linear orthogonal regression.

Robinson's transformation with linear nuisances: ỹ = y − m̂(x), p̃ = p − ê(x), cross-fitted by unit,
then β = argmin Σ(ỹ − βᵀQᵀp̃)², g = Qβ. Standard errors are clustered by unit. It is the simplest
policy that is not naive about confounding: it moves one small step along the best edge where the
lower bound of its gain is above zero.
"""

import numpy as np
import pyarrow as pa

from realloc.base.simplex import Floats, Integers, edge_directions, edges, tangent_basis
from realloc.baselines.fitted import Fitted
from realloc.decide.types import Decision
from realloc.logs import Logs, unit_folds

STEP = 0.05
CONFIDENCE = 1.645  # standard errors of the lower bound
LEAST_SUPPORT = 0.05


class ConstantField(Fitted):
    """Move STEP along the one edge that the log as a whole favours."""

    def __init__(self) -> None:
        self.field: Floats = np.empty(0)
        self.covariance: Floats = np.empty((0, 0))

    def learn(self, logs: Logs) -> None:
        """Estimate the field g, its covariance, and how far logged shares are from their mean."""
        Q = tangent_basis(len(logs.schema.channels))
        design = _design(logs)
        folds = unit_folds(logs, min(5, logs.unit_count))
        y = logs.outcome - _cross_fit(design, logs.outcome[:, None], folds)[:, 0]
        z = (logs.shares - _cross_fit(design, logs.shares, folds)) @ Q
        gram = np.linalg.pinv(z.T @ z)
        beta = gram @ (z.T @ y)
        scores = z * (y - z @ beta)[:, None]
        by_unit = [np.bincount(logs.unit_codes, weights=column) for column in scores.T]
        clustered = np.stack(by_unit, axis=1)
        self.field = Q @ beta
        self.covariance = Q @ gram @ (clustered.T @ clustered) @ gram @ Q.T
        self.centre = logs.shares.mean(axis=0)
        self.precision = np.linalg.pinv(np.cov(logs.shares.T))
        self.distances = np.sort(self._distance(logs.shares))

    def decide(self, logs: Logs) -> Decision:
        """One step along the best edge, where the shares allow it and the end has support."""
        n = len(logs)
        directions = edge_directions(len(self.field))
        gain = directions @ self.field * STEP
        variance = np.einsum("ek,kl,el->e", directions, self.covariance, directions)
        lower = gain - CONFIDENCE * (np.sqrt(variance) * STEP)
        best = int(np.argmax(lower))
        source, target = edges(len(self.field))[best]
        able = (logs.shares[:, source] >= STEP) & (logs.shares[:, target] > 0)
        end = np.where(able[:, None], logs.shares + STEP * directions[best], logs.shares)
        nearer = np.searchsorted(self.distances, self._distance(end), side="left")
        support = 1 - nearer / len(self.distances)
        reasons = {
            "no_gain": np.full(n, gain[best] <= 0),
            "uncertain": np.full(n, lower[best] <= 0),
            "constrained": ~able,
            "unsupported": support < LEAST_SUPPORT,
        }
        return Decision(
            shares=end,
            gain=np.full(n, gain[best]),
            gain_lower=np.full(n, lower[best]),
            support=support,
            steps=np.ones(n, dtype=np.int64),
            reason=np.select(list(reasons.values()), list(reasons), "moved"),
        )

    def _distance(self, shares: Floats) -> Floats:
        off = shares - self.centre
        return np.einsum("nk,kl,nl->n", off, self.precision, off)


def _design(logs: Logs) -> Floats:
    """Intercept, log budget, standardised numbers and their squares, missing ones at the mean."""
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


def _cross_fit(design: Floats, target: Floats, folds: Integers) -> Floats:
    """Ridge predictions for each fold from the others."""
    predicted = np.empty_like(target)
    penalty = np.eye(design.shape[1])
    for fold in np.unique(folds):
        train = folds != fold
        x = design[train]
        weights = np.linalg.solve(x.T @ x + penalty, x.T @ target[train])
        predicted[~train] = design[~train] @ weights
    return predicted
