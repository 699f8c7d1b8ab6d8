"""Do stated propensities fit the draws? And what to use where none were stated.

If they are right, then over rows
    E[1/e(A)] = number of arms that a row could get,
    (N − E)ᵀ V⁺ (N − E) ~ χ²(rank V),   N_a = #{A = a},  E_a = Σ e_i(a),  V = Σ diag(e_i) − e_i e_iᵀ.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2

from realloc.base.errors import LogError
from realloc.base.simplex import Floats
from realloc.evaluate.outcome_model import (
    OutcomeModelConfig,
    boost,
    splits,
    tree_options,
    unit_fold,
)
from realloc.evaluate.randomized import SAME_MOVE, RandomizedMoves, Rows
from realloc.evaluate.result import Estimate, EstimateTable
from realloc.evaluate.weights import IntervalConfig, Mask, weighted_mean

if TYPE_CHECKING:
    import pandas as pd

FEW = 5  # expected draws below which an arm has no part in the chi-square
LEAST_P = 1e-4  # below it, the draws contradict the propensities
NAN = float("nan")
IMPOSSIBLE = -30.0  # score of an arm that a row could not get


@dataclass(frozen=True)
class PropensityCheck:
    """The two checks, and each arm's draws over the expected number."""

    estimates: EstimateTable
    p_value: float

    @property
    def consistent(self) -> bool:
        """Whether draws like these happen under the stated propensities."""
        return self.p_value >= LEAST_P

    @property
    def reason(self) -> str:
        """What was found, in a sentence."""
        chi = self.estimates["chi_square"]
        found = f"chi-square {chi.value:.1f} on {chi.n} degrees of freedom, p = {self.p_value:.2g}"
        return f"The stated propensities {'fit' if self.consistent else 'do not fit'} the draws ({found})."

    def to_frame(self) -> "pd.DataFrame":
        """One row per number."""
        return self.estimates.to_frame()


def check_propensities(rows: RandomizedMoves) -> PropensityCheck:
    """Compare the arms drawn with the stated probabilities."""
    e, M = rows.probabilities, len(rows.moves)
    drawn, expected = np.bincount(rows.drawn, minlength=M).astype(np.float64), e.sum(axis=0)
    V = np.diag(expected) - e.T @ e
    often = expected >= FEW  # the limit law of rare arms is not chi-square
    statistic, degrees = _quadratic((drawn - expected)[often], V[np.ix_(often, often)])
    p_value = float(chi2.sf(statistic, degrees)) if degrees else 1.0
    possible = (e > 0).sum(axis=1)
    one, interval = np.ones(len(rows)), IntervalConfig()
    inverse = weighted_mean(
        "mean_inverse_over_arms", (1 / rows.propensity / possible, one), rows.unit, interval
    )
    numbers = [
        Estimate("largest_sum_error", float(np.abs(e.sum(axis=1) - 1).max()), NAN, NAN, len(rows)),
        inverse,  # 1 where the propensities are right
        Estimate("chi_square", statistic, NAN, NAN, degrees),
        Estimate("p_value", p_value, NAN, NAN, degrees),
    ]
    for arm in np.flatnonzero(expected > 0):
        half = 1.959964 * float(np.sqrt(V[arm, arm]) / expected[arm])
        ratio = float(drawn[arm] / expected[arm])
        numbers.append(
            Estimate(
                f"arm_{arm}_drawn_over_expected", ratio, ratio - half, ratio + half, int(drawn[arm])
            )
        )
    return PropensityCheck(EstimateTable(tuple(numbers)), p_value)


def estimate_propensities(
    rows: RandomizedMoves, config: OutcomeModelConfig | None = None
) -> RandomizedMoves:
    """The same rows with probabilities from trees cross-fitted by unit: whether to hold, then which of the possible moves.

    The given probabilities only say which arms were possible: above 0.
    """
    config = config or OutcomeModelConfig(trees=100, leaves=4)
    could, still = rows.probabilities > 0, rows.hold
    if len(np.unique(rows.drawn)) < 2:
        raise LogError(
            "Expected at least 2 different arms in the log to estimate propensities from, got 1."
        )
    if still is None:
        return replace(
            rows, probabilities=_fit_chances(rows, rows.drawn, could, config), estimated=True
        )
    moves = np.arange(len(rows.moves)) != still
    either = np.stack([could[:, moves].any(axis=1), could[:, still]], axis=1)
    holds = _fit_chances(rows, (rows.drawn == still).astype(np.int64), either, config)[:, 1]
    which = _fit_chances(rows, rows.drawn, could & moves, config, rows.drawn != still)
    found = which * (1 - holds)[:, None]
    found[:, still] = holds
    return replace(rows, probabilities=found, estimated=True)


def _fit_chances(
    rows: RandomizedMoves,
    label: Rows,
    could: Mask,
    config: OutcomeModelConfig,
    learned: Mask | None = None,
) -> Floats:
    """Chances (n, M) over what each row could get, learned where `learned`; a row that could get nothing has zeros.

    Trees start from chances ∝ one weight per arm among what is possible, so that they need not learn what is not.
    """
    learned = np.ones(len(rows), dtype=bool) if learned is None else learned
    arms = np.unique(label[learned])
    code, can = np.searchsorted(arms, label), could[:, arms]
    scores = np.where(can, _pooled_scores(code[learned], can[learned]), IMPOSSIBLE)
    if len(arms) > 1:
        fold = unit_fold(rows.unit, config.folds, config.seed)
        menu = (rows.probabilities > 0).astype(
            np.float64
        )  # what was possible says much about what was drawn
        x = np.concatenate([rows.state, rows.start, menu, menu.sum(axis=1, keepdims=True)], axis=1)
        start = scores.copy()
        for away, parts in enumerate(splits(fold)):
            train, stop = (part[learned[part]] for part in parts)
            options = {
                "objective": "multiclass",
                "num_class": len(arms),
                **tree_options(config, len(train)),
            }
            booster = boost(x, code, (train, stop), rows.categorical, options, start)
            mine = np.flatnonzero(fold == away)
            scores[mine] += np.asarray(booster.predict(x[mine], raw_score=True, num_threads=1))
    weights = np.exp(scores - scores.max(axis=1, keepdims=True)) * can
    chances = np.zeros(could.shape)
    chances[:, arms] = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    return chances


def _pooled_scores(code: Rows, can: Mask, rounds: int = 100) -> Floats:
    """log w (M,) of the most likely P(a) = w_a 1{a possible} / Σ_b w_b 1{b possible}, by its fixed point."""
    drawn, w = np.bincount(code, minlength=can.shape[1]), np.full(can.shape[1], 1.0)
    for _ in range(rounds):
        w = drawn / (can.T @ (1 / (can @ w)))
        w /= w.sum()
    return np.log(w)


def possible_arms(start: Floats, moves: Floats, drawn: Rows) -> Floats:
    """Even chances over the moves that overdraw no channel (n, M): a first guess that says what was possible."""
    could = (start[:, None, :] + moves).min(axis=2) >= -SAME_MOVE
    could[np.arange(len(drawn)), drawn] = True
    return could / could.sum(axis=1, keepdims=True)


def _quadratic(gap: Floats, V: Floats) -> tuple[float, int]:
    """gapᵀ V⁺ gap and the rank of V."""
    values, vectors = np.linalg.eigh(V)
    used = values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)
    return float(np.square(vectors[:, used].T @ gap) @ (1 / values[used])), int(used.sum())
