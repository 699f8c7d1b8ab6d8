import numpy as np
import pytest

from realloc.base.errors import ConfigError
from realloc.decide.portfolio.knapsack import Menu, to_knapsack
from tests.decide.portfolio.test_portfolio import draw_menu, use_of


def test_equal_units_are_one_group_and_the_first_get_the_most():
    menu = draw_menu(1, n=3, J=3, R=2)
    order = np.array([0, 1, 0, 2, 0])
    many = Menu(menu.gain[order], menu.use[order], menu.possible[order])
    problem = to_knapsack(many, use_of(many, np.zeros(5, int)) + 10_000)
    assert sorted(problem.count.tolist()) == [1, 1, 3]
    triple = int(problem.group[0])
    assert (problem.group[[0, 2, 4]] == triple).all()
    best = int(problem.gain[triple].argmax())
    counts = np.zeros(problem.gain.shape, int)
    counts[:, 0] = problem.count
    counts[triple, 0], counts[triple, best] = (3, 0) if best == 0 else (2, 1)
    option = problem.hand_out(counts)
    assert option.tolist() == [best, 0, 0, 0, 0]


def test_uses_count_from_each_units_least():
    use = np.array([[[100], [40]], [[70], [90]]])
    problem = to_knapsack(
        Menu(np.zeros((2, 2)), use, np.ones((2, 2), bool)), np.array([130])
    )
    assert problem.room.tolist() == [20]
    assert problem.excess.min() == 0
    fits = np.isfinite(problem.gain)
    assert (problem.excess[fits] <= 20).all()


def test_an_option_that_no_choice_within_the_limits_contains_is_left_out():
    gain = np.array([[0.0, 9.0], [0.0, 1.0]])
    use = np.array([[[0], [500]], [[0], [10]]])
    problem = to_knapsack(Menu(gain, use, np.ones((2, 2), bool)), np.array([100]))
    assert sorted(np.isfinite(problem.gain).sum(axis=1).tolist()) == [1, 2]


def test_limits_that_exclude_every_option_of_a_unit_leave_negative_room():
    use = np.array([[[100, 0], [0, 100]]])
    problem = to_knapsack(
        Menu(np.zeros((1, 2)), use, np.ones((1, 2), bool)), np.array([40, 40])
    )
    assert (problem.room < 0).any()


def test_uses_that_cannot_be_summed_exactly_are_refused():
    with pytest.raises(ConfigError, match="Count in a larger unit of money"):
        Menu(np.zeros((600, 1)), np.full((600, 1, 1), 2**53), np.ones((600, 1), bool))


def test_the_use_of_a_choice_is_exact():
    largest = 2**53 - 1
    menu = Menu(np.zeros((2, 1)), np.full((2, 1, 1), largest), np.ones((2, 1), bool))
    assert menu.used(np.zeros(2, int)).tolist() == [2 * largest]
