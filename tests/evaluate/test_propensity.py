from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from realloc.base.errors import LogError
from realloc.evaluate.propensity import (
    check_propensities,
    estimate_propensities,
    possible_arms,
)
from tests.evaluate.drawn import CHANCES, MOVES, menu_rows


def varied(n: int, seed: int):
    """Arms drawn by chances that depend on the first state;
    row 0 mod 5 cannot take the last arm.
    """
    rng = np.random.default_rng(
        [seed, 1]
    )  # another stream than the rows', or starts would tell the draws
    rows = menu_rows(units=n // 5, seed=seed)
    scores = np.log(CHANCES) + np.outer(rows.state[:, 0], [0.0, 0.8, -0.8])
    chances = np.exp(scores)
    chances[::5, 2] = 0
    chances /= chances.sum(axis=1, keepdims=True)
    drawn = (rng.random((len(rows), 1)) > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
    return replace(rows, probabilities=chances, drawn=drawn)


def test_right_propensities_have_even_p_values():
    checks = [check_propensities(varied(500, seed)) for seed in range(150)]
    assert kstest([check.p_value for check in checks], "uniform").pvalue > 1e-3
    inside = [
        one.low <= 1 <= one.high
        for one in (check["mean_inverse_over_arms"] for check in checks)
    ]
    assert abs(np.mean(inside) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 150)


def test_wrong_propensities_are_found():
    rows = menu_rows()
    check = check_propensities(
        replace(rows, probabilities=np.tile([1 / 3, 1 / 3, 1 / 3], (len(rows), 1)))
    )
    assert not check.consistent
    assert "do not fit the draws (chi-square" in check.reason
    assert check["arm_0_drawn_over_expected"].low > 1
    assert check_propensities(rows).consistent


def test_arms_that_are_hardly_ever_expected_do_not_decide():
    rows = menu_rows(units=3, days=1)
    chances = np.tile([0.98, 0.01, 0.01], (3, 1))
    assert check_propensities(
        replace(rows, probabilities=chances, drawn=np.full(3, 1))
    ).consistent


def test_the_check_is_a_table():
    frame = check_propensities(menu_rows()).to_frame()
    assert frame["name"].tolist()[:4] == [
        "largest_sum_error",
        "mean_inverse_over_arms",
        "chi_square",
        "p_value",
    ]
    assert len(frame) == 4 + len(MOVES)


def test_estimated_propensities_come_near_the_true_ones():
    rows = varied(5000, seed=2)
    blind = replace(
        rows,
        probabilities=(rows.probabilities > 0)
        / (rows.probabilities > 0).sum(axis=1, keepdims=True),
    )
    found = estimate_propensities(blind)
    assert found.estimated
    assert np.allclose(found.probabilities.sum(axis=1), 1)
    assert (found.probabilities[rows.probabilities == 0] == 0).all()
    away = np.abs(found.probabilities - rows.probabilities).mean()
    assert away < 0.04
    assert away < np.abs(blind.probabilities - rows.probabilities).mean() / 3


def test_estimation_works_without_an_arm_that_holds():
    rows = menu_rows(units=100)
    moved = replace(rows, moves=np.array([[0.05, -0.05], [0.1, -0.1], [-0.1, 0.1]]))
    assert moved.hold is None
    assert (
        np.abs(estimate_propensities(moved).probabilities.mean(axis=0) - CHANCES).max()
        < 0.1
    )


def test_one_arm_says_nothing_about_propensities():
    rows = menu_rows(units=20)
    with pytest.raises(LogError, match="Expected at least 2 different arms"):
        estimate_propensities(replace(rows, drawn=np.zeros(len(rows), dtype=int)))


def test_possible_arms_overdraw_nothing():
    found = possible_arms(np.array([[0.05, 0.95], [0.5, 0.5]]), MOVES, np.array([0, 2]))
    assert np.allclose(found, [[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]])
