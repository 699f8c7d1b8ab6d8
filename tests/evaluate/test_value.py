from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from realloc.base.errors import ConfigError, LogError
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.outcome_model import fit_outcome_model, no_model
from realloc.evaluate.randomized import RandomizedMoves
from realloc.evaluate.value import (
    CANNOT,
    VALUES,
    ValueConfig,
    doubly_robust,
    policy_value,
    smoothed_value,
)
from realloc.evaluate.weights import (
    ActionKernel,
    target_arms,
    target_mix,
    target_shares,
)
from tests.evaluate.drawn import (
    CHANCES,
    MOVES,
    OPEN,
    SLOPE,
    density_rows,
    menu_rows,
    surface,
    with_outcome,
)

FOUR = RandomizedMoves(
    start=np.full((4, 2), 0.5),
    moves=MOVES[:2],
    probabilities=np.array([[0.5, 0.5], [0.5, 0.5], [0.75, 0.25], [0.75, 0.25]]),
    drawn=np.array([1, 0, 1, 0]),
    outcome=np.array([3.0, 1.0, 4.0, 2.0]),
    unit=np.arange(4),
    state=np.zeros((4, 1)),
)
FOUR_TARGET = target_arms(FOUR, np.array([1, 1, 1, 0]))


def two_or_three(shares, rows):
    """2 where held, 3 where moved."""
    return 2 + 10 * (shares[:, 0] - 0.5)


def test_all_values_of_four_rows_by_hand():
    found = policy_value(FOUR, FOUR_TARGET, two_or_three, replace(OPEN, clip=3.0))
    # weights 2, 0, 4, 4/3; model at the target 3, 3, 3, 2 and as logged 3, 2, 3, 2; scores 3, 3, 7,
    # 2
    by_hand = {
        "dr_value": 3.75,
        "logged_value": 2.5,
        "hold_value": 1.5,  # scores 2, 0, 2, 2
        "ips_value": (6 + 16 + 8 / 3) / 4,
        "snips_value": (6 + 16 + 8 / 3) / (22 / 3),
        "dr_lift": 1.25,
        "clipped_dr_lift": 1.0,
        "self_normalised_dr_lift": 4 / (22 / 3) + (11 / 4 - 2.5),
        "ips_lift": (6 + 16 + 8 / 3) / 4 - 2.5,
        "snips_lift": (6 + 16 + 8 / 3) / (22 / 3) - 2.5,
        "dr_lift_over_hold": 2.25,
        "lift_per_action": 1.25 / 0.75,
        "lift_over_hold_per_action": 3.0,
        "action_rate": 0.75,
        "clipped_share": 0.25,
        "largest_weight": 4.0,
        "effective_rows": (22 / 3) ** 2 / (4 + 16 + 16 / 9),
        "effective_acting_rows": 36 / 20,
        "off_menu_rate": 0.0,
        "mean_weight": 22 / 12,
    }
    assert {name: found[name].value for name in by_hand} == pytest.approx(by_hand)
    half = (
        3.182446 * np.std([0, 2, 3, 0], ddof=1) / 2
    )  # Student's t with 3 degrees of freedom
    assert (found["dr_lift"].low, found["dr_lift"].high) == pytest.approx(
        (1.25 - half, 1.25 + half)
    )


E_TRUE = np.array([[0.5, 0.3, 0.2], [0.4, 0.2, 0.4], [0.3, 0.3, 0.4]])
MU = np.array([[1.0, 2.0, 4.0], [3.0, 0.0, 1.0], [2.0, 5.0, 0.0]])
AIM = np.array([1, 0, 2])


def expectation(score):
    """Of a function of the drawn arms of three rows, over all 27 draws."""
    total = 0.0
    for drawn in product(range(3), repeat=3):
        chance = np.prod(E_TRUE[range(3), drawn])
        total += chance * score(np.array(drawn))
    return total


def three_rows(drawn, probabilities=E_TRUE):
    return RandomizedMoves(
        start=np.full((3, 2), 0.5),
        moves=MOVES,
        probabilities=probabilities,
        drawn=drawn,
        outcome=MU[range(3), drawn],
        unit=np.arange(3),
        state=np.zeros((3, 1)),
    )


@pytest.mark.parametrize(
    "name", ["dr_lift", "ips_lift", "dr_lift_over_hold", "dr_value", "hold_value"]
)
def test_values_are_exactly_unbiased_whatever_the_model(name):
    def wrong(shares, rows):
        return 7 - 20 * shares[:, 0] + rows

    def score(drawn):
        rows = three_rows(drawn)
        return policy_value(rows, target_arms(rows, AIM), wrong, OPEN)[name].value

    logging, aimed, held = (
        (E_TRUE * MU).sum(axis=1).mean(),
        MU[range(3), AIM].mean(),
        MU[:, 0].mean(),
    )
    truth = {
        "dr_lift": aimed - logging,
        "ips_lift": aimed - logging,
        "dr_lift_over_hold": aimed - held,
        "dr_value": aimed,
        "hold_value": held,
    }
    assert np.isclose(expectation(score), truth[name], atol=1e-12)


@pytest.mark.parametrize(
    ("right_weights", "right_model"),
    [(True, False), (False, True), (True, True), (False, False)],
)
def test_either_the_propensities_or_the_model_must_be_right(right_weights, right_model):
    stated = E_TRUE if right_weights else np.roll(E_TRUE, 1, axis=1)
    model = MU if right_model else MU[::-1] + 1

    def score(drawn):
        weight = (drawn == AIM) / stated[range(3), drawn]
        return doubly_robust(
            MU[range(3), drawn], weight, model[range(3), AIM], model[range(3), drawn]
        ).mean()

    unbiased = np.isclose(expectation(score), MU[range(3), AIM].mean(), atol=1e-12)
    assert unbiased == (right_weights or right_model)


ROWS = menu_rows()
UP = target_arms(ROWS, np.ones(len(ROWS), dtype=int))
MODEL = fit_outcome_model(ROWS)
LOGGING_LIFT = 0.1 * SLOPE - SLOPE * float(CHANCES @ MOVES[:, 0])


def test_the_interval_holds_the_known_lift_and_is_far_from_zero():
    found = policy_value(ROWS, UP, MODEL)
    assert found["dr_lift"].low <= LOGGING_LIFT <= found["dr_lift"].high
    assert found["dr_lift_over_hold"].low <= 0.1 * SLOPE <= found["dr_lift_over_hold"].high
    assert found.verdict == "better"
    assert found.reason.startswith("DR lift over logging +0.4")
    assert (
        policy_value(ROWS, target_arms(ROWS, np.full(len(ROWS), 2)), MODEL).verdict
        == "worse"
    )


def test_the_model_makes_the_interval_shorter():
    widths = {}
    for name in ("dr_lift", "ips_lift", "snips_lift"):
        one = policy_value(ROWS, UP, MODEL)[name]
        widths[name] = one.high - one.low
    assert widths["dr_lift"] < 0.7 * widths["snips_lift"] < widths["ips_lift"]


def test_permuted_outcomes_have_no_lift():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(20):
        blind = with_outcome(ROWS, rng.permutation(ROWS.outcome))
        found = policy_value(blind, UP)["dr_lift"]
        covered += found.low <= 0 <= found.high
    assert covered >= 16  # 19 are expected; fewer than 16 happen once in 400 times


def test_logging_itself_has_no_lift():
    found = policy_value(ROWS, target_mix(ROWS, ROWS.probabilities), no_model)
    assert found["dr_lift"].value == 0
    assert np.isclose(found["mean_weight"].value, 1)


def test_a_mix_is_worth_the_mix_of_its_arms():
    half = target_mix(ROWS, np.tile([0.0, 0.5, 0.5], (len(ROWS), 1)))
    down = target_arms(ROWS, np.full(len(ROWS), 2))
    parts = [policy_value(ROWS, target, MODEL)["dr_lift"].value for target in (UP, down)]
    assert np.isclose(policy_value(ROWS, half, MODEL)["dr_lift"].value, np.mean(parts))


def test_a_policy_that_never_moves_gains_nothing_over_holding():
    found = policy_value(ROWS, target_shares(ROWS, ROWS.start), MODEL)
    assert found["action_rate"].value == 0
    assert found["dr_lift_over_hold"].value == 0
    assert np.isnan(found["lift_per_action"].value)
    assert found.verdict != CANNOT


def test_rows_off_the_menu_are_left_out_and_counted():
    arms = np.where(np.arange(len(ROWS)) % 4 == 0, -1, 1)
    found = policy_value(ROWS, target_arms(ROWS, arms), MODEL)
    assert found["off_menu_rate"].value == 0.25
    assert found["dr_lift"].n == 0.75 * len(ROWS)
    kept = arms == 1
    weight = (ROWS.drawn[kept] == 1) / CHANCES[1]
    every = np.flatnonzero(kept)
    by_hand = doubly_robust(
        ROWS.outcome[kept],
        weight,
        MODEL(ROWS.start[kept] + MOVES[1], every),
        MODEL(ROWS.logged[kept], every),
    )
    assert np.isclose(found["dr_lift"].value, (by_hand - ROWS.outcome[kept]).mean())


def test_a_target_off_the_menu_everywhere_cannot_be_evaluated():
    found = policy_value(
        ROWS, target_shares(ROWS, ROWS.start + np.array([0.2, -0.2])), MODEL
    )
    assert found.verdict == CANNOT
    assert (
        "targets that logging could have drawn on at least 50% of the rows, got 0% of 1,500"
        in found.reason
    )
    assert all(np.isnan(found[name].value) for name in VALUES)
    assert found["off_menu_rate"].value == 1
    assert (
        policy_value(ROWS, target_arms(ROWS, np.full(len(ROWS), -1)), MODEL, OPEN).verdict
        == CANNOT
    )


def test_too_little_evidence_cannot_be_evaluated():
    few = menu_rows(units=60, days=2)
    found = policy_value(few, target_arms(few, np.ones(120, dtype=int)))
    assert found.verdict == CANNOT
    assert found.reason.startswith(
        "Expected at least 100 effective rows behind the target, got 32.0. Explore longer"
    )
    assert all(np.isnan(found[name].value) for name in VALUES)
    assert found["action_rate"].value == 1


def test_much_holding_does_not_hide_that_moves_are_hardly_known():
    arms = np.where(np.arange(len(ROWS)) % 10 == 0, 1, 0)
    found = policy_value(ROWS, target_arms(ROWS, arms), MODEL)
    assert found["effective_rows"].value > 500
    assert found.verdict == CANNOT
    assert "effective acting rows behind the target" in found.reason


def test_one_unit_cannot_be_evaluated():
    one = replace(ROWS, unit=np.zeros(len(ROWS), dtype=int))
    found = policy_value(one, UP)
    assert found.verdict == CANNOT
    assert "Expected at least 30 effective units behind the target, got 1.0" in found.reason
    with pytest.raises(LogError, match="Expected at least 2 units to cross-fit"):
        policy_value(one, UP, config=OPEN)


def test_propensities_that_the_draws_contradict_cannot_be_used():
    wrong = replace(ROWS, probabilities=np.full((len(ROWS), 3), 1 / 3))
    found = policy_value(wrong, UP, MODEL)
    assert found.verdict == CANNOT
    assert found.reason.startswith(
        "The stated propensities do not fit the draws (chi-square"
    )


def test_resampling_units_gives_about_the_same_interval():
    resampled = policy_value(ROWS, UP, MODEL, ValueConfig(bootstrap=Bootstrap(draws=1000)))
    for name in ("dr_lift", "snips_lift", "lift_per_action"):
        one, other = policy_value(ROWS, UP, MODEL)[name], resampled[name]
        assert one.value == other.value
        assert np.isclose(other.high - other.low, one.high - one.low, rtol=0.12)


def test_a_value_is_a_table():
    frame = policy_value(ROWS, UP, MODEL).to_frame()
    assert frame.columns.tolist() == ["name", "value", "low", "high", "n"]
    assert set(VALUES) < set(frame["name"])
    withheld = policy_value(
        ROWS, target_arms(ROWS, np.full(len(ROWS), -1)), MODEL
    ).to_frame()
    assert set(VALUES) < set(withheld["name"])


def test_a_config_that_cannot_be_used_is_refused():
    with pytest.raises(ConfigError, match="Expected `clip` > 0 in the value config, got 0"):
        ValueConfig(clip=0)
    with pytest.raises(ConfigError, match="Expected `most_off_menu` from 0 to 1"):
        ValueConfig(most_off_menu=1.5)


AIMED = (0.45, 0.25, 0.3)


def test_smoothed_values_hold_the_truth():
    rows = density_rows(3000, seed=4)
    target = np.tile(AIMED, (3000, 1))
    found = smoothed_value(rows, target)
    truth = (
        surface(target)[0] - 1 / 3
    )  # the logging mean is the middle, and the surface is linear
    assert found["dr_lift"].low <= truth <= found["dr_lift"].high
    assert found["dr_lift"].low > 0
    assert found.verdict == "better"
    assert found["bandwidth"].value > 0


def test_smoothed_values_are_those_of_the_kernel_whatever_the_model():
    """A model that jumps at the target: taken at the point alone it would shift every row alike,
    unseen by the interval.
    """
    rows = density_rows(6000, seed=5, curve=10.0)
    target = np.tile(AIMED, (6000, 1))
    config = ValueConfig(bandwidth=0.2)

    def jumps(shares, _):
        return surface(shares, 10.0) + 0.5 * (np.abs(shares - AIMED).max(axis=1) < 0.02)

    smooth = smoothed_value(rows, target, lambda shares, _: surface(shares, 10.0), config)[
        "dr_value"
    ]
    rough = smoothed_value(rows, target, jumps, config)["dr_value"]
    point = smoothed_value(rows, target, jumps, replace(config, at_point=True))["dr_value"]
    around = np.concatenate(
        [place[good] for place, good in ActionKernel(rows, target, 0.2).draws()]
    )
    truth = surface(around, 10.0).mean()
    assert smooth.low <= truth <= smooth.high
    assert abs(rough.value - smooth.value) < (smooth.high - smooth.low) / 4
    assert not point.low <= truth <= point.high


def test_a_right_model_taken_at_the_point_takes_away_the_bias_of_smoothing():
    rows = density_rows(6000, seed=5, curve=10.0)
    target = np.tile(AIMED, (6000, 1))
    config = ValueConfig(bandwidth=0.4, at_point=True)
    truth = surface(target, 10.0)[0]
    plain = smoothed_value(rows, target, no_model, config)["snips_value"]
    helped = smoothed_value(rows, target, lambda shares, _: surface(shares, 10.0), config)[
        "dr_value"
    ]
    assert not plain.low <= truth <= plain.high
    assert helped.low <= truth <= helped.high
    assert abs(helped.value - truth) < abs(plain.value - truth) / 5


def test_a_target_where_nothing_was_drawn_cannot_be_evaluated():
    rows = density_rows(500, alpha=(20.0, 20.0, 20.0))
    found = smoothed_value(rows, np.tile([0.96, 0.02, 0.02], (500, 1)))
    assert found.verdict == CANNOT
    assert "Expected at least 100 effective rows behind the target" in found.reason


def test_targets_of_another_shape_are_refused():
    with pytest.raises(LogError, match=r"Expected target shares of shape \(200, 3\)"):
        smoothed_value(density_rows(200), np.ones((3, 3)) / 3)
