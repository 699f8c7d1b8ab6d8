import numpy as np
import pytest

from platform_figures import Panel
from realloc.world.platform.exploration import (
    ExplorationParameters,
    arm_probabilities,
    make_menu,
)


@pytest.fixture(params=["two", "three"])
def world(request: pytest.FixtureRequest) -> Panel:
    return request.getfixturevalue(request.param)


def test_about_a_tenth_of_the_items_explore(two: Panel) -> None:
    items = len(two.logs) // 60
    explored = ~two.routine.reshape(60, items)
    assert (explored == explored[0]).all()
    assert abs(explored[0].mean() - 0.1) < 4 * np.sqrt(0.09 / items)


def test_logged_propensities_are_those_of_the_reconstructed_arms(world: Panel) -> None:
    arms, propensity = world.market.arms(world.logs), world.column("propensity")
    rows = ~world.routine
    assert (arms.drawn[rows] >= 0).all()
    assert np.array_equal(propensity[rows], arms.probabilities[rows, arms.drawn[rows]])
    assert np.isnan(propensity[~rows]).all()
    assert np.isnan(arms.probabilities[~rows]).all()
    assert (arms.drawn[~rows] == -1).all()
    assert np.allclose(arms.probabilities[rows].sum(axis=1), 1)
    assert np.allclose(world.before[rows] + arms.moves[arms.drawn[rows]], world.after[rows])


def test_arms_are_drawn_as_often_as_their_propensities_say(world: Panel) -> None:
    """Σ(1{drawn} − p) is a martingale with variance Σp(1 − p), for every arm."""
    arms, rows = world.market.arms(world.logs), ~world.routine
    p = arms.probabilities[rows]
    surprise = np.eye(p.shape[1])[arms.drawn[rows]] - p
    z = surprise.sum(axis=0) / np.sqrt((p * (1 - p)).sum(axis=0))
    assert np.abs(z).max() < 4.5


def test_exploration_ignores_sales_where_the_legacy_policy_follows_them(two: Panel) -> None:
    trend = two.column("orders_lag_trend_7").astype(float)
    arms, rows = two.market.arms(two.logs), ~two.routine
    towards_coupon = two.market.rules.menu.moves[:, 1] > 0
    p = arms.probabilities[rows][:, towards_coupon].sum(axis=1)
    surprise = towards_coupon[arms.drawn[rows]] - p
    z = (surprise * trend[rows]).sum() / np.sqrt((p * (1 - p) * trend[rows] ** 2).sum())
    assert abs(z) < 4.5
    legacy = two.moved & two.routine
    change = two.after[legacy, 1] - two.before[legacy, 1]
    assert np.corrcoef(change, trend[legacy])[0, 1] < -0.3


def test_only_feasible_moves_have_a_chance() -> None:
    menu = make_menu(
        2, ExplorationParameters(hold=0.4, steps=(50, 100), weights=(1.0, 3.0))
    )
    holding = np.array([[500, 500], [60, 940], [1000, 0], [1000, 0]], dtype=np.int32)
    opened = np.array([[True, True], [True, True], [True, True], [True, False]])
    # Arms: hold, ads → coupon by 50 and 100, coupon → ads by 50 and 100.
    expected = [
        [0.4, 0.075, 0.225, 0.075, 0.225],
        [0.4, 0.12, 0.0, 0.12, 0.36],
        [0.4, 0.15, 0.45, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0],
    ]
    assert np.allclose(arm_probabilities(menu, holding, opened), expected)
    assert menu.moves.tolist() == [[0, 0], [-50, 50], [-100, 100], [50, -50], [100, -100]]
