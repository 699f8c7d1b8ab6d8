import numpy as np
import pytest

from realloc.base.errors import LogError
from realloc.decide.search.greedy import gain_of_potential
from realloc.world import World
from realloc.world.oracle import search_local, true_gain
from realloc.world.score import score_field, score_shares
from tests.world.drawn import draw

WORLD = World("hard", 1)
LOGS, STATE, START = draw(WORLD, units=80, periods=2)


def test_logging_scores_zero():
    scores = score_shares(WORLD, LOGS, START)
    assert scores["deployable_uplift"].value == 0
    assert scores["oos_rate"].value == 0
    assert scores["mean_l1_movement"].value == 0
    assert np.isnan(scores["harm_rate"].value)


def test_oracle_local_recovers_itself():
    scores = score_shares(WORLD, LOGS, search_local(WORLD, STATE, START).shares)
    assert np.isclose(scores["safe_local_recovery"].value, 1)
    assert scores["harm_rate"].value == 0
    assert scores["oos_rate"].value == 0
    assert scores["raw_uplift"].value == scores["deployable_uplift"].value > 0


def test_a_vertex_is_out_of_support():
    vertex = np.tile([1.0, 0.0, 0.0], (len(START), 1))
    scores = score_shares(WORLD, LOGS, vertex)
    assert scores["oos_rate"].value == 1
    assert scores["deployable_uplift"].value == 0
    assert np.isclose(scores["oos_gain"].value, scores["raw_uplift"].value)
    assert scores["path_nonconformity_90"].value == np.inf


def test_the_true_field_is_perfect_and_its_opposite_the_worst():
    truth = np.array(WORLD.gradient(STATE, START))
    perfect, opposite = score_field(WORLD, LOGS, truth), score_field(WORLD, LOGS, -truth)
    assert np.isclose(perfect["pairwise_corr"].value, 1)
    assert perfect["top_edge_acc"].value == 1
    assert perfect["top_edge_regret"].value == 0
    assert np.isclose(perfect["edge_ndcg"].value, 1)
    assert np.isclose(opposite["pairwise_corr"].value, -1)
    assert opposite["top_edge_regret"].value > 0
    assert opposite["edge_ndcg"].value < 0.7


def test_a_potential_gives_its_differences():
    surface = WORLD.surface(STATE)
    gain = gain_of_potential(lambda rows, shares: surface.take(rows).value(shares))
    rows = np.array([3, 7])
    candidates = np.stack([START[rows], np.roll(START[rows], 1, axis=1)], axis=1)
    found, truth = (
        gain(rows, START[rows], candidates),
        true_gain(surface)(rows, START[rows], candidates),
    )
    assert np.allclose(found, truth)
    assert np.all(found[:, 0] == 0)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(LogError, match="Expected shares of shape"):
        score_shares(WORLD, LOGS, START[:5])
    with pytest.raises(LogError, match="Expected a field of shape"):
        score_field(WORLD, LOGS, START[:5])
