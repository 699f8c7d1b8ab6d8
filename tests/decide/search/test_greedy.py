import numpy as np
import pytest

from realloc.base.errors import ConfigError
from realloc.decide.search.greedy import SearchConfig, search_greedy, transfers

CONFIG = SearchConfig(steps=(0.05, 0.1), max_steps=4, max_length=1.0)


def linear(slope):
    return lambda rows, shares, candidates: (
        (candidates - shares[:, None]) @ np.asarray(slope)
    )


def anywhere(rows, start, candidates):
    return np.ones(candidates.shape[:2], dtype=bool)


def test_all_transfers_are_there_with_their_lengths():
    moves, lengths = transfers(3, (0.1, 0.2))
    assert moves.shape == (12, 3)
    assert np.allclose(moves.sum(axis=1), 0)
    assert np.allclose(np.linalg.norm(moves, axis=1), lengths)


def test_greedy_takes_the_best_edge_until_the_steps_end():
    start = np.array([[0.5, 0.3, 0.2], [0.05, 0.05, 0.9]])
    trace = search_greedy(start, linear([0.0, 1.0, 3.0]), anywhere, CONFIG)
    assert np.allclose(trace.shares[0], [0.1, 0.3, 0.6])
    assert np.allclose(
        trace.shares[1], [0.0, 0.0, 1.0]
    )  # 5 % from each, then nothing is left to move
    assert trace.steps.tolist() == [4, 2]
    assert np.allclose(trace.length, np.sqrt(2) * np.array([0.4, 0.1]))
    assert np.allclose(trace.gain, (trace.shares - start) @ [0.0, 1.0, 3.0])


def test_movement_budget_is_never_exceeded_and_used_by_smaller_steps():
    config = SearchConfig(steps=(0.05, 0.1), max_steps=9, max_length=np.sqrt(2) * 0.25)
    trace = search_greedy(
        np.array([[0.5, 0.3, 0.2]]), linear([0.0, 0.0, 1.0]), anywhere, config
    )
    assert np.isclose(trace.length[0], np.sqrt(2) * 0.25)
    assert trace.steps[0] == 3


def test_support_is_judged_from_the_start():
    start = np.array([[0.5, 0.3, 0.2]])

    def near(rows, origin, candidates):
        assert np.array_equal(origin, start[rows])
        return np.abs(candidates - origin[:, None]).sum(axis=-1) <= 0.3 + 1e-12

    trace = search_greedy(start, linear([0.0, 0.0, 1.0]), near, CONFIG)
    assert np.isclose(np.abs(trace.shares - start).sum(), 0.3)


def test_no_gain_above_the_threshold_keeps_the_budget():
    start = np.array([[0.5, 0.3, 0.2]])
    config = SearchConfig(steps=(0.1,), max_steps=3, max_length=1.0, threshold=0.2)
    trace = search_greedy(start, linear([0.0, 0.0, 1.0]), anywhere, config)
    assert np.array_equal(trace.shares, start)
    assert trace.steps[0] == 0


def test_rows_are_searched_independently():
    rng = np.random.default_rng(0)
    start, slopes = rng.dirichlet(np.ones(4), 20), rng.standard_normal((20, 4))

    def gain(rows, shares, candidates):
        return np.einsum("nmk,nk->nm", candidates - shares[:, None], slopes[rows])

    together = search_greedy(start, gain, anywhere, CONFIG)
    for i in range(20):
        alone = search_greedy(
            start[[i]], lambda r, s, c, i=i: gain(r + i, s, c), anywhere, CONFIG
        )
        assert np.array_equal(alone.points[0], together.points[i])


def test_bad_configs_are_refused():
    with pytest.raises(ConfigError, match="Expected steps > 0, got"):
        SearchConfig(steps=(), max_steps=1, max_length=1.0)
    with pytest.raises(ConfigError, match="Expected max_steps and max_length >= 0, got -1"):
        SearchConfig(steps=(0.1,), max_steps=-1, max_length=1.0)
