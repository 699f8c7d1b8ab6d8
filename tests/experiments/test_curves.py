"""The curves' table: pairs with the best rival, and says how many seeds it rests on."""

import pytest

from curves import CURVES, METHODS, cell, keys, to_markdown


def fake(recovery: float) -> dict[str, object]:
    found = {"safe_local_recovery": recovery, "oos_rate": 0.0, "harm_rate": 0.01}
    return {"greedy": found, "ascent": found, "seconds": 1.0, "code": "test"}


BY_METHOD = {"realloc": 0.9, "s_nn_ensemble": 0.7, "r_learner": 0.8, "linear_dml": 0.85}


def test_realloc_is_paired_with_the_best_rival_of_the_place():
    cells = {
        f"rows/5000/{method}/{seed}": fake(BY_METHOD[method] + seed / 100)
        for method in METHODS
        for seed in (1, 2, 3)
    }
    cells["rows/5000/realloc/4"] = fake(0.0)  # a seed that the others do not have yet
    line = next(
        line for line in to_markdown(cells).splitlines() if line.startswith("| 5000 |")
    )
    assert line.endswith("| linear_dml | +0.050 (+0.050 to +0.050; 3 seeds) |")
    assert "; 4) |" in line


def test_one_seed_has_no_interval_and_none_no_pair():
    cells = {f"rows/5000/{method}/1": fake(BY_METHOD[method]) for method in METHODS}
    cells |= {"rows/10000/realloc/1": fake(0.9), "members/5/realloc/1": fake(0.9)}
    text = to_markdown(cells)
    assert "| linear_dml | +0.050 (1 seed) |" in text
    assert "| 10000 | 0.900 (0.000, 0.010; 1) | – | – | – | – | – |" in text
    assert "| 5 | 0.900 (0.000, 0.010; 1) |" in text


def test_without_doubt_only_where_it_was_measured():
    cells = {
        f"rows/{rows}/{method}/1": fake(BY_METHOD[method])
        for method in METHODS
        for rows in (5000, 10000)
    }
    cells["rows/5000/realloc/1"]["bold"] = fake(0.95)["ascent"]
    bold = to_markdown(cells).split("without its uncertainty penalty (β = 0)")[1]
    assert "| 5000 | 0.950 (0.000, 0.010; 1) |" in bold
    assert "| linear_dml | +0.100 (1 seed) |" in bold
    assert "| 10000 |" not in bold


def test_quick_asks_for_both_ends_of_every_curve():
    found = keys(list(CURVES), (1,), quick=True)
    assert {key.split("/")[0] for key in found} == set(CURVES)
    assert "rows/5000/realloc/1" in found
    assert "rows/200000/linear_dml/1" in found
    assert not any(key.startswith("rows/20000/") for key in found)


@pytest.mark.slow
def test_a_rival_runs_at_one_place():
    found = cell("channels/5/r_learner/205", quick=True)
    assert {"greedy", "ascent"} == set(found)
    assert found["greedy"]["moved"] > 0
