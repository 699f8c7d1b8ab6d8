import numpy as np
import pytest

from realloc.base.errors import LogError
from realloc.evaluate import oracle as metrics

GAIN = np.array([1.0, -0.5, 2.0, 0.0])
SUPPORTED = np.array([True, True, False, True])


def test_uplifts_by_hand():
    assert metrics.raw_uplift(GAIN).value == 0.625
    assert metrics.deployable_uplift(GAIN, SUPPORTED).value == 0.125
    assert metrics.oos_rate(SUPPORTED).value == 0.25
    assert metrics.oos_gain(GAIN, SUPPORTED).value == 0.5


def test_recovery_is_a_ratio_of_means():
    found = metrics.safe_local_recovery(GAIN, SUPPORTED, np.array([1.0, 0.0, 3.0, 0.0]))
    assert np.isclose(found.value, 0.125)
    assert found.low < found.value < found.high


def test_recovery_of_the_oracle_has_no_uncertainty():
    found = metrics.safe_local_recovery(GAIN, np.ones(4, bool), GAIN)
    assert np.isclose(found.value, 1)
    assert np.isclose(found.high - found.low, 0, atol=1e-6)


def test_recovery_interval_covers_at_its_rate():
    rng, hits = np.random.default_rng(1), 0
    for _ in range(400):
        oracle = rng.exponential(1.0, 300)
        gain = 0.7 * oracle + 0.5 * rng.standard_normal(300)
        found = metrics.safe_local_recovery(gain, np.ones(300, bool), oracle)
        hits += found.low <= 0.7 <= found.high
    assert abs(hits / 400 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)


def test_harm_counts_moved_units_only():
    found = metrics.harm_rate(
        np.array([1.0, -0.5, -0.1, 0.0]), np.array([True, True, False, False])
    )
    assert (found.value, found.n) == (0.5, 2)
    assert np.isnan(metrics.harm_rate(GAIN, np.zeros(4, bool)).value)


def test_movement_is_the_l1_distance():
    start, shares = np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([[0.3, 0.7], [0.2, 0.8]])
    assert np.isclose(metrics.mean_movement(start, shares).value, 0.2)


def test_nonconformity_is_the_ninetieth_percentile():
    found = metrics.path_nonconformity(np.arange(101.0))
    assert found.value == 90
    assert found.low < 90 < found.high


FIELD = np.array([[0.0, 1.0, 3.0]])  # edges 01 02 10 12 20 21 score 1 3 −1 2 −3 −2


def test_edge_scores_are_differences_of_the_field():
    assert metrics.edge_scores(FIELD).tolist() == [[1, 3, -1, 2, -3, -2]]


def test_ranking_metrics_by_hand():
    oracle = metrics.edge_scores(FIELD)
    learned = np.array([[2.0, 1.0, 0.0, 3.0, -1.0, -2.0]])  # ranks 12, 01, 02, 10, …
    assert metrics.top_edge_acc(learned, oracle).value == 0
    assert metrics.top_edge_regret(learned, oracle).value == 1
    dcg = 2 / np.log2(2) + 1 / np.log2(3) + 3 / np.log2(4)
    ideal = 3 / np.log2(2) + 2 / np.log2(3) + 1 / np.log2(4)
    assert np.isclose(metrics.edge_ndcg(learned, oracle).value, dcg / ideal)
    assert np.isclose(
        metrics.pairwise_corr(learned, oracle).value,
        np.corrcoef(learned[0], oracle[0])[0, 1],
    )


def test_correlation_ignores_scale_and_has_an_interval_inside_one():
    rng = np.random.default_rng(0)
    oracle = metrics.edge_scores(rng.standard_normal((200, 3)))
    noisy = 5 * oracle + rng.standard_normal(oracle.shape)
    found = metrics.pairwise_corr(noisy, oracle)
    assert np.isclose(found.value, metrics.pairwise_corr(noisy / 5, oracle).value)
    assert found.low < found.value < found.high < 1


def test_a_flat_field_has_no_correlation():
    oracle = metrics.edge_scores(FIELD)
    assert np.isnan(metrics.pairwise_corr(np.zeros_like(oracle), oracle).value)


def test_anchors_without_a_gaining_edge_are_left_out_of_ndcg():
    oracle = np.vstack([metrics.edge_scores(FIELD), np.zeros((1, 6))])
    found = metrics.edge_ndcg(oracle, oracle, clusters=np.array([0, 1]))
    assert (found.value, found.n) == (1, 1)


def test_shapes_must_agree():
    with pytest.raises(
        LogError, match=r"Expected two arrays of one shape, got \(4,\) and \(3,\)"
    ):
        metrics.pairwise_corr(GAIN, GAIN[:3])
