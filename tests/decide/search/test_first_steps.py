"""The best first step, and the rule that stands in its way."""

import numpy as np

from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.search.first_steps import try_first_steps
from tests.decide.test_decide import CONFIG, START, Upto, linear, problem


def tried(config=CONFIG, **options):
    ruled = problem(**options)
    return try_first_steps(ruled, ruled, START, config)


def test_the_best_step_goes_to_where_it_gains_and_nothing_forbids_it():
    steps = tried()
    assert np.allclose(steps.end[:, 1] - START[:, 1], max(CONFIG.steps))
    assert np.allclose(steps.end.sum(axis=1), 1)
    for mask in (steps.some_gain, steps.some_good, steps.some_free, steps.exists):
        assert mask.all()
    assert (steps.possible & steps.supported & steps.safe & steps.start_supported).all()


def test_uncertainty_leaves_gains_that_are_not_good_enough():
    steps = tried(doubt=10.0)
    assert steps.some_gain.all()
    assert not steps.some_good.any()
    assert not steps.some_free.any()


def test_the_one_rule_that_forbids_is_told_apart():
    capped = tried(constraints=Constraints(frozen=("coupon",)))
    assert not capped.possible.any()
    assert (capped.supported & capped.safe).all()
    far = tried(support=Upto(0.3))
    assert not far.supported.any()
    assert (far.possible & far.safe).all()
    assert far.start_supported.tolist() == [True, True, False]
    rail = linear((0.0, -1.0, 0.0), name="gmv", weight=0.0, tolerance=0.0)
    guarded = tried(outcomes=(linear((0.0, 1.0, 0.0)), rail))
    assert not guarded.safe.any()
    assert (guarded.possible & guarded.supported).all()


def test_a_smaller_step_that_is_free_is_better_than_a_larger_one_that_is_not():
    steps = tried(DecisionConfig(steps=(0.01, 0.05)), support=Upto(0.32))
    assert np.allclose(steps.end[:2, 1], 0.31)
    assert steps.some_free.tolist() == [True, True, False]


def test_nothing_is_taken_from_an_empty_channel():
    start = np.array([[0.0, 1.0, 0.0]])
    ruled = problem(start=start)
    steps = try_first_steps(ruled, ruled, start, CONFIG)
    assert not steps.some_gain.any()  # coupon has it all already
    assert steps.end.min() >= 0
