"""Do stated propensities fit the draws? And what to use where none were stated.

If they are right, then over rows
    E[1/e(A)] = number of arms that a row could get,
    (N − E)ᵀ V⁺ (N − E) ~ χ²(rank V),  N_a = #{A = a},  E_a = Σ e_i(a),  V = Σ diag(e_i) − e_i e_iᵀ.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from realloc.base.errors import LogError
from realloc.base.numbers import probability
from realloc.base.simplex import Floats, Mask, Rows
from realloc.evaluate import outcome_model
from realloc.evaluate.outcome_model import splits, unit_fold
from realloc.evaluate.randomized import SAME_MOVE, RandomizedMoves
from realloc.evaluate.result import NORMAL_QUANTILE, Estimate, EstimateTable
from realloc.evaluate.trees import boost
from realloc.evaluate.weights import Term, weighted_mean

FEW = 5  # expected draws below which an arm has no part in the chi-square
LEAST_P = 1e-4  # below it, the draws contradict the propensities
TREES = outcome_model.TREES | {"num_iterations": 100, "num_leaves": 4}
IMPOSSIBLE = -30.0  # score of an arm that a row could not get


@dataclass(frozen=True)
class PropensityCheck(EstimateTable):
    """The two checks, and each arm's draws over the expected number."""

    p_value: float

    @property
    def consistent(self) -> bool:
        """Whether draws like these happen under the stated propensities."""
        return self.p_value >= LEAST_P

    @property
    def reason(self) -> str:
        """What was found, in a sentence."""
        chi = self["chi_square"]
        verdict = "fit" if self.consistent else "do not fit"
        return (
            f"The stated propensities {verdict} the draws (chi-square {chi.value:.1f} on {chi.n} "
            f"degrees of freedom, {probability(self.p_value)})."
        )


def check_propensities(rows: RandomizedMoves) -> PropensityCheck:
    """Compare the arms drawn with the stated probabilities."""
    e = rows.probabilities
    drawn = np.bincount(rows.drawn, minlength=len(rows.moves)).astype(np.float64)
    expected = e.sum(axis=0)
    V = np.diag(expected) - e.T @ e
    often = expected >= FEW  # the limit law of rare arms is not chi-square
    gap = (drawn - expected)[often]
    spread, directions = np.linalg.eigh(V[np.ix_(often, often)])
    used = spread > 1e-9 * max(float(spread.max(initial=0.0)), 1e-300)  # V⁺ has these alone
    statistic = float(np.square(directions[:, used].T @ gap) @ (1 / spread[used]))
    degrees = int(used.sum())
    p_value = float(chi2.sf(statistic, degrees)) if degrees else 1.0
    inverse = Term(1 / rows.propensity / (e > 0).sum(axis=1))
    largest = np.abs(e.sum(axis=1) - 1).max()
    estimates = [
        Estimate.point("largest_sum_error", largest, len(rows)),
        # 1 where the propensities are right
        weighted_mean("mean_inverse_over_arms", inverse, rows.unit),
        Estimate.point("chi_square", statistic, degrees),
        Estimate.point("p_value", p_value, degrees),
    ]
    for arm in np.flatnonzero(expected > 0):
        half = NORMAL_QUANTILE * np.sqrt(V[arm, arm]) / expected[arm]
        ratio = drawn[arm] / expected[arm]
        name = f"arm_{arm}_drawn_over_expected"
        estimates.append(Estimate.around(name, ratio, half, int(drawn[arm])))
    return PropensityCheck(tuple(estimates), p_value)


def estimate_propensities(rows: RandomizedMoves) -> RandomizedMoves:
    """The same rows with probabilities from trees cross-fitted by unit.

    First whether a row holds, then which of the possible moves it makes. The given probabilities
    only say which arms were possible: above 0.
    """
    could = rows.probabilities > 0
    hold = rows.hold
    if len(np.unique(rows.drawn)) < 2:
        raise LogError(
            "Expected at least 2 different arms in the log to estimate propensities from, got 1."
        )
    if hold is None:
        chances = _fit_chances(rows, rows.drawn, could)
        return replace(rows, probabilities=chances, estimated=True)
    moves = np.arange(len(rows.moves)) != hold
    either = np.stack([could[:, moves].any(axis=1), could[:, hold]], axis=1)
    held = _fit_chances(rows, (rows.drawn == hold).astype(np.int64), either)[:, 1]
    which = _fit_chances(rows, rows.drawn, could & moves, rows.drawn != hold)
    chances = which * (1 - held)[:, None]
    chances[:, hold] = held
    return replace(rows, probabilities=chances, estimated=True)


def _fit_chances(
    rows: RandomizedMoves, label: Rows, could: Mask, learned: Mask | None = None
) -> Floats:
    """Chances (n, M) over what each row could get, learned where `learned`;
    zeros where it could get nothing.

    Trees start from chances ∝ one weight per arm among what is possible, so that they need not
    learn what is not.
    """
    learned = np.ones(len(rows), dtype=bool) if learned is None else learned
    arms = np.unique(label[learned])
    code = np.searchsorted(arms, label)
    can = could[:, arms]
    start = np.where(can, _pooled_scores(code[learned], can[learned]), IMPOSSIBLE)
    scores = start.copy()
    if len(arms) > 1:
        fold = unit_fold(rows.unit)
        # What was possible says much about what was drawn.
        menu = (rows.probabilities > 0).astype(np.float64)
        x = np.concatenate(
            [rows.state, rows.start, menu, menu.sum(axis=1, keepdims=True)], axis=1
        )
        options = {"objective": "multiclass", "num_class": len(arms), **TREES}
        for away, (learn, judge) in enumerate(splits(fold)):
            train = learn[learned[learn]]
            stop = judge[learned[judge]]
            booster = boost(x, code, train, stop, options, rows.categorical, start)
            here = np.flatnonzero(fold == away)
            scores[here] += np.asarray(
                booster.predict(x[here], raw_score=True, num_threads=1)
            )
    weights = np.exp(scores - scores.max(axis=1, keepdims=True)) * can
    chances = np.zeros(could.shape)
    chances[:, arms] = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    return chances


def _pooled_scores(code: Rows, can: Mask) -> Floats:
    """log w (M,) of the most likely P(a) = w_a 1{a possible} / Σ_b w_b 1{b possible},
    by its fixed point.
    """
    drawn = np.bincount(code, minlength=can.shape[1])
    w = np.ones(can.shape[1])
    for _ in range(100):
        w = drawn / (can.T @ (1 / (can @ w)))
        w /= w.sum()
    return np.log(w)


def possible_arms(start: Floats, moves: Floats, drawn: Rows) -> Floats:
    """Even chances (n, M) over the moves that overdraw no channel:
    a guess that says what was possible.
    """
    could = (start[:, None, :] + moves).min(axis=2) >= -SAME_MOVE
    could[np.arange(len(drawn)), drawn] = True
    return could / could.sum(axis=1, keepdims=True)
