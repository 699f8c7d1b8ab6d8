from dataclasses import replace

import numpy as np
import pytest

from realloc.base.errors import ConfigError, LogError
from realloc.evaluate.agreement import agreement_lift
from realloc.evaluate.outcome_model import fit_outcome_model, no_model
from realloc.evaluate.randomized import RandomizedMoves
from tests.evaluate.drawn import MOVES, SLOPE, density_rows, menu_rows, with_outcome

ROWS = menu_rows()
UP = ROWS.start + np.array([0.05, -0.05])


def test_agreement_by_hand():
    rows = RandomizedMoves(
        start=np.full((4, 2), 0.5),
        moves=MOVES,
        probabilities=np.array(
            [[0.5, 0.25, 0.25], [0.5, 0.4, 0.1], [0.5, 0.25, 0.25], [0.5, 0.5, 0.0]]
        ),
        drawn=np.array([1, 1, 2, 1]),
        outcome=np.array([3.0, 6.0, 1.0, 100.0]),
        unit=np.arange(4),
        state=np.zeros((4, 1)),
    )
    found = agreement_lift(rows, np.full((4, 2), 0.5) + np.array([0.02, -0.02]), no_model)
    # Agreeing rows 3 and 6 with weights 4 and 2.5; the last row could not have opposed.
    assert np.isclose(found["agreement_lift"].value, (12 + 15) / 6.5 - 1)
    assert [
        found[name].value for name in ("agreeing_rows", "opposing_rows", "comparable_rows")
    ] == [2, 1, 3]


def test_the_interval_holds_the_known_difference_of_directions():
    found = agreement_lift(ROWS, UP)["agreement_lift"]
    assert found.low <= 0.2 * SLOPE <= found.high
    assert found.low > 0
    assert (
        agreement_lift(ROWS, ROWS.start - np.array([0.05, -0.05]))["agreement_lift"].high
        < 0
    )


def test_permuted_outcomes_do_not_care_for_directions():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(20):
        found = agreement_lift(
            with_outcome(ROWS, rng.permutation(ROWS.outcome)), UP, no_model
        )["agreement_lift"]
        covered += found.low <= 0 <= found.high
    assert covered >= 16  # 19 are expected; fewer than 16 happen once in 400 times


def test_chances_that_depend_on_the_state_do_not_count_as_an_effect():
    """Rows with a high outcome are moved up more often: raw means differ, weighted ones do not.

    Of twenty intervals at 95 %, sixteen or fewer hold 0 by chance in 1.6 % of all draws.
    """
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rich = rng.random(len(ROWS)) < 0.5
        chances = np.where(rich[:, None], [0.2, 0.7, 0.1], [0.2, 0.1, 0.7])
        drawn = (rng.random((len(ROWS), 1)) > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
        outcome = 3.0 * rich + rng.standard_normal(len(ROWS))
        rows = replace(ROWS, probabilities=chances, drawn=drawn, outcome=outcome)
        assert outcome[drawn == 1].mean() - outcome[drawn == 2].mean() > 1.5
        found = agreement_lift(rows, UP, no_model)["agreement_lift"]
        held += found.low <= 0 <= found.high
    assert held >= 17


def test_a_policy_that_holds_agrees_with_nothing():
    found = agreement_lift(ROWS, ROWS.start)
    assert np.isnan(found["agreement_lift"].value)
    assert found["comparable_rows"].value == 0


def test_shares_from_a_density_are_compared_too():
    rows = density_rows(2000, known=True)
    target = rows.start + np.array([0.1, -0.1, 0.0])
    found = agreement_lift(rows, target, fit_outcome_model(rows))
    draws = np.random.default_rng(9).dirichlet((3.0, 3.0, 3.0), 200_000)
    ahead = draws[:, 0] > draws[:, 1]
    truth = (2 * draws[ahead, 0] - draws[ahead, 1]).mean() - (
        2 * draws[~ahead, 0] - draws[~ahead, 1]
    ).mean()
    assert found["agreement_lift"].low <= truth <= found["agreement_lift"].high
    assert found["agreement_lift"].low > 0
    with pytest.raises(ConfigError, match="Expected `density_at` to know how likely"):
        agreement_lift(replace(rows, density_at=None), target)


def test_the_result_is_a_table_and_shares_are_checked():
    assert agreement_lift(ROWS, UP, no_model).to_frame().shape == (4, 5)
    with pytest.raises(LogError, match="Expected recommended shares of at least 0"):
        agreement_lift(ROWS, UP * 2)
