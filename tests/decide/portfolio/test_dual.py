import numpy as np
import pytest

from realloc.decide.portfolio.dual import evaluate, lowest_gain, minimise_dual
from realloc.decide.portfolio.knapsack import Menu, to_knapsack
from tests.decide.portfolio.test_portfolio import (
    draw_menu,
    enumerate_all,
    unit_best,
    use_of,
)


def tight(seed, n=6):
    menu = draw_menu(seed, n=n, J=4, R=2)
    limits = use_of(menu, unit_best(menu)) // 2
    return menu, limits, to_knapsack(menu, limits)


@pytest.mark.parametrize("seed", range(5))
def test_the_dual_at_any_prices_is_above_the_best_choice(seed):
    menu, limits, problem = tight(seed)
    best = enumerate_all(menu, limits)
    random = np.random.default_rng(seed)
    for size in (0.0, 1e-4, 1e-3, 1e-2):
        assert evaluate(problem, size * random.random(2)).value >= best - 1e-9
    assert (
        best - 1e-9 <= minimise_dual(problem).value <= evaluate(problem, np.zeros(2)).value
    )


def test_the_slope_is_that_of_the_value():
    _, _, problem = tight(1, n=50)
    prices = np.array([2e-4, 3e-4])
    here = evaluate(problem, prices)
    for r in range(2):
        off = 1e-9 * (np.arange(2) == r)
        there = evaluate(problem, prices + off)
        assert (there.value - here.value) / 1e-9 == pytest.approx(here.slope[r], rel=1e-3)


def test_a_dual_below_every_choice_proves_that_there_is_none():
    use = np.tile([[100, 0], [0, 100]], (60, 1, 1))
    menu = Menu(np.zeros((60, 2)), use, np.ones((60, 2), bool))
    problem = to_knapsack(menu, np.array([2400, 2400]))
    assert minimise_dual(problem).value < lowest_gain(problem)
    possible = to_knapsack(menu, np.array([3000, 3000]))
    assert minimise_dual(possible).value >= lowest_gain(possible)
