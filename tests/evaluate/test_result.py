import numpy as np
import pytest

from realloc.base.errors import LogError
from realloc.evaluate.result import Estimate, EstimateTable, mean_estimate, standard_error


def test_mean_and_interval_by_hand():
    found = mean_estimate("gain", np.array([1.0, 2.0, 3.0, 6.0]))
    half = 1.959964 * np.std([1, 2, 3, 6], ddof=1) / 2
    assert found.value == 3
    assert np.allclose([found.low, found.high], [3 - half, 3 + half])
    assert found.n == 4


def test_rows_of_one_unit_count_once():
    values = np.array([1.0, 1.0, 5.0, 5.0])
    assert np.isclose(
        standard_error(values, np.array([0, 0, 1, 1])), standard_error(np.array([1.0, 5.0]))
    )


def test_singleton_clusters_change_nothing():
    values = np.random.default_rng(0).standard_normal(50)
    assert np.isclose(standard_error(values, np.arange(50)), standard_error(values))


def test_intervals_cover_at_their_rate():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        unit = np.repeat(rng.standard_normal(60), 5)
        found = mean_estimate(
            "x", unit + rng.standard_normal(300), np.repeat(np.arange(60), 5)
        )
        hits += found.low <= 0 <= found.high
    assert abs(hits / 400 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)


def test_nothing_has_no_mean_and_one_row_no_interval():
    assert np.isnan(mean_estimate("x", np.array([])).value)
    one = mean_estimate("x", np.array([2.0]))
    assert one.value == 2
    assert np.isnan(one.low)


def test_clusters_must_match_the_rows():
    with pytest.raises(LogError, match="Expected one cluster per row, got 2 for 3 rows"):
        standard_error(np.ones(3), np.array([0, 1]))


def test_a_table_reads_by_name_and_as_a_frame():
    table = EstimateTable(
        (Estimate("a", 1.0, 0.5, 1.5, 9), Estimate("b", 2.0, float("nan"), float("nan"), 9))
    )
    assert table["b"].value == 2
    assert [e.name for e in table] == ["a", "b"]
    assert table.to_arrow().column_names == ["name", "value", "low", "high", "n"]
    assert table.to_frame().shape == (2, 5)
    assert str(table["a"]) == "a 1 [0.5, 1.5] (n=9)"
    assert str(table["b"]) == "b 2 (n=9)"
    with pytest.raises(KeyError, match="got 'c'"):
        table["c"]
