"""A decision problem: its score, its three rules as one, and its slopes."""

from dataclasses import replace

import numpy as np

from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.problem import (
    allowed_by,
    approximate_locally,
    gain_and_sigma,
    score_ends,
    search_settings,
    steepness,
)
from tests.decide.test_decide import START, Upto, linear, problem

ROWS = np.arange(3)
ENDS = START[:, None] + np.array([[-0.1, 0.1, 0.0], [0.1, -0.1, 0.0]])


def test_the_score_is_the_gain_without_beta_times_its_uncertainty():
    gain, sigma = gain_and_sigma(problem(doubt=0.5), ROWS, START, ENDS[:, 0])
    assert np.allclose(gain, 0.1)
    assert np.allclose(sigma, 0.05 * np.sqrt(2))
    score = score_ends(problem(doubt=0.5), ROWS, START, ENDS, DecisionConfig(beta=2.0))
    assert np.allclose(score[:, 0], gain - 2 * sigma)
    assert np.allclose(score[:, 1], -gain - 2 * sigma)


def test_each_of_the_three_rules_forbids_by_itself():
    rail = linear((0.0, -1.0, 0.0), name="gmv", weight=0.0, tolerance=0.0)
    guarded = problem(outcomes=(linear((0.0, 1.0, 0.0)), rail))
    capped = problem(constraints=Constraints(caps={"coupon": 0.4}))
    for ruled, first in [
        (problem(), [True, True, True]),
        (problem(support=Upto(0.4)), [True, True, False]),
        (capped, [True, True, False]),
        (guarded, [False, False, False]),
    ]:
        assert allowed_by(ruled)(ROWS, START, ENDS)[:, 0].tolist() == first


def test_a_guardrail_is_judged_from_the_current_shares_not_from_where_a_search_stands():
    rail = linear((0.0, -1.0, 0.0), doubt=0.0, name="gmv", weight=0.0, tolerance=0.15)
    guarded = problem(outcomes=(linear((0.0, 1.0, 0.0)), rail))
    further = ENDS + np.array([-0.1, 0.1, 0.0])
    assert allowed_by(guarded)(ROWS, START, ENDS)[:, 0].all()
    assert not allowed_by(guarded)(ROWS, ENDS[:, 0], further)[:, 0].any()


def test_channels_at_their_bounds_are_neither_raised_nor_lowered():
    bounded = problem(constraints=Constraints(caps={"ads": 0.5}, floors={"rebate": 0.2}))
    more, less = steepness(bounded, ROWS[:1], START[:1])
    assert more[0].tolist() == [-np.inf, 1.0, 0.0]
    assert less[0].tolist() == [0.0, 1.0, np.inf]


def test_steps_on_a_grid_are_its_multiples_within_reach():
    config = DecisionConfig(max_length=0.22)
    assert search_settings(problem(), config).steps == config.steps
    gridded = problem(constraints=Constraints(grid=0.05))
    assert np.allclose(search_settings(gridded, config).steps, [0.05, 0.1, 0.15])
    coarse = problem(constraints=Constraints(grid=0.5))
    assert search_settings(coarse, config).steps == (0.5,)  # one step at least


def test_local_gains_take_the_place_of_dear_ones_where_there_are_any():
    plain = problem()
    assert approximate_locally(plain, START, DecisionConfig()) is plain

    def reach(base, radius):
        return lambda rows, start, ends: np.full(ends.shape[:2], radius)

    term = replace(plain.outcomes[0], local_gain=reach)
    dear = replace(plain, outcomes=(term,))
    local = approximate_locally(dear, START, DecisionConfig(max_length=0.07))
    assert (local.outcomes[0].gain(ROWS, START, ENDS) == 0.07).all()
    assert local.limits is dear.limits
