import numpy as np

from realloc.decide.portfolio.core import solve_core
from realloc.decide.portfolio.dual import minimise_dual
from tests.decide.portfolio.test_dual import tight
from tests.decide.portfolio.test_portfolio import enumerate_all


def gain_of(problem, counts):
    return (np.where(counts > 0, problem.gain, 0.0) * counts).sum()


def test_with_every_unit_in_the_core_the_choice_is_the_best():
    for seed in range(10):
        menu, limits, problem = tight(seed)
        counts = solve_core(problem, np.zeros(2), 6, 1000)
        assert counts is not None
        assert counts.sum(axis=1).tolist() == problem.count.tolist()
        best = enumerate_all(menu, limits)
        assert best is not None
        assert np.isclose(gain_of(problem, counts), best)


def test_units_outside_the_core_take_their_best_option_at_the_prices():
    _, _, problem = tight(3, n=200)
    prices = minimise_dual(problem).prices
    counts = solve_core(problem, prices, 20, 1000)
    assert counts is not None
    best = problem.score(prices).argmax(axis=1)
    assert (counts[np.arange(len(best)), best] == 1).sum() >= len(best) - 20
    assert (np.einsum("gj,gjr->r", counts, problem.excess) <= problem.room).all()


def test_none_is_found_where_the_others_leave_no_room():
    _, _, problem = tight(3, n=200)
    assert solve_core(problem, np.zeros(2), 1, 1000) is None
