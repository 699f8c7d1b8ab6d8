import numpy as np
import pytest

from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import (
    OutcomeTerm,
    conservative_gain,
    guarded,
    spread,
    weigh_gains,
    weigh_slopes,
)

ROWS, START, ENDS = np.arange(2), np.full((2, 3), 1 / 3), np.full((2, 4, 3), 1 / 3)


def outcome(name, gain, sigma, weight=1.0, tolerance=None):
    def constant(value):
        return lambda rows, start, ends: np.full(ends.shape[:2], float(value))

    slopes = np.array([gain, 0.0, -gain])
    return OutcomeTerm(
        name,
        constant(gain),
        constant(sigma),
        lambda rows, p: np.tile(slopes, (len(p), 1)),
        weight,
        tolerance,
    )


def test_the_gain_is_lowered_by_beta_sigma_and_by_missing_support():
    config = DecisionConfig(beta=0.5, lambda_support=2.0, epsilon=0.01)
    gain, sigma, omega = np.array([3.0, 3.0]), np.array([1.0, 1.0]), np.array([0.99, 0.0])
    found = conservative_gain(gain, sigma, omega, config)
    assert np.allclose(found, [3 - 0.5 + 2 * np.log(1.0), 3 - 0.5 + 2 * np.log(0.01)])
    assert found[1] < 0 < found[0]  # no support at all costs λ log(1/ε)


def test_support_counts_for_nothing_where_its_weight_is_zero():
    config = DecisionConfig(beta=0.25, lambda_support=0.0)
    found = conservative_gain(np.array([1.0]), np.array([2.0]), np.array([0.0]), config)
    assert found.tolist() == [0.5]
    assert np.array_equal(
        found, conservative_gain(np.array([1.0]), np.array([2.0]), None, config)
    )


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_beta_is_the_number_of_standard_deviations(beta):
    assert (
        conservative_gain(np.array(5.0), np.array(2.0), None, DecisionConfig(beta=beta))
        == 5 - 2 * beta
    )


def test_outcomes_are_weighed_and_their_errors_add_up():
    outcomes = (
        outcome("orders", 2.0, 3.0),
        outcome("gmv", 10.0, 4.0, weight=0.5),
        outcome("cost", 99.0, 99.0, weight=0.0),
    )
    gain, sigma = weigh_gains(outcomes, ROWS, START, ENDS)
    assert (gain == 7.0).all()
    assert np.allclose(sigma, 3.0 + 2.0)
    assert np.allclose(weigh_slopes(outcomes, ROWS, START), [[7.0, 0.0, -7.0]] * 2)


def test_a_negative_weight_takes_off_gain_but_never_doubt():
    outcomes = (outcome("orders", 2.0, 3.0), outcome("cost", 1.0, 4.0, weight=-1.0))
    gain, sigma = weigh_gains(outcomes, ROWS, START, ENDS)
    assert (gain == 1.0).all()
    assert np.allclose(sigma, 7.0)


@pytest.mark.parametrize(
    ("gain", "sigma", "tolerance", "safe"),
    [
        (0.0, 0.0, 0.0, True),
        (1.0, 0.6, 0.0, True),
        (1.0, 0.7, 0.0, False),
        (1.0, 0.7, 0.1, True),
        (-0.5, 0.0, 0.5, True),
        (-0.5, 0.01, 0.5, False),
        (5.0, 0.1, None, True),
        (-5.0, 9.0, None, True),
    ],
)
def test_a_guardrail_needs_its_lower_bound_above_what_it_may_lose(
    gain, sigma, tolerance, safe
):
    outcomes = (outcome("gmv", gain, sigma, weight=0.0, tolerance=tolerance),)
    assert (guarded(outcomes, 1.5, ROWS, START, ENDS) == safe).all()


def test_every_guardrail_counts():
    good, bad = (
        outcome("a", 1.0, 0.0, tolerance=0.0),
        outcome("b", -1.0, 0.0, tolerance=0.0),
    )
    assert guarded((good, good), 1.0, ROWS, START, ENDS).all()
    assert not guarded((good, bad), 1.0, ROWS, START, ENDS).any()


def test_the_spread_of_members_is_their_sample_deviation_and_of_one_member_nothing():
    gains = np.random.default_rng(0).standard_normal((5, 2, 3))
    assert np.allclose(spread(gains), np.sqrt(np.square(gains - gains.mean(0)).sum(0) / 4))
    assert spread(gains[:1]).tolist() == np.zeros((2, 3)).tolist()
