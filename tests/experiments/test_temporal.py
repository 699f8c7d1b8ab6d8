"""The temporal experiment at a tiny size: memory, time and the table's arithmetic."""

import numpy as np
import pytest

from realloc.world import World
from temporal import PAPER, TITLES, cell, memory_of, pooled_time, to_markdown
from tests.small import CONFIG

SIZES = {"windows": 3, "units": 30, "periods": 5, "test": 6}


@pytest.fixture(scope="module")
def windows():
    world = World("hard", 205)
    return [world.sample(units=30, periods=5, seed=w, window=w) for w in range(3)]


def test_every_method_remembers_what_it_may(windows):
    sizes = {
        name: len(memory_of(name, windows))
        for name in ("fresh", "warm", "raw", "pooled", "pooled2")
    }
    assert sizes == {"fresh": 150, "warm": 150, "raw": 300, "pooled": 450, "pooled2": 300}


def test_raw_replay_holds_as_much_of_every_former_window(windows):
    units = memory_of("raw", windows).to_arrow()["item_id"].to_pylist()
    assert [sum(name.startswith(f"s{w}-") for name in units) for w in range(3)] == [
        75,
        75,
        150,
    ]


def fake(method: str) -> dict[str, float | str]:
    """A cell whose time is one second a window of rows."""
    size = {"fresh": 1, "reset": 1, "warm": 1, "raw": 2, "rolling": 2, "pooled": 3}.get(
        method, 2
    )
    total = 3.0 * size if method != "rolling" else 3.0
    kept = {
        "rows": 150 * size,
        "bytes": 1000 * size,
        "support": 75,
        "seconds": 1.0,
        "code": "test",
    }
    return {
        "current": 1.0,
        "past": 0.5,
        "union": 0.9 if method == "rolling" else 1.0,
        "recovery": 0.9,
        "last": float(size),
        "total": total,
    } | kept


def test_the_table_adds_up_times_and_memory():
    cells = {f"{method}/{seed}": fake(method) for method in TITLES for seed in (1, 2)}
    assert pooled_time(cells, 3) == pytest.approx(1 + 2 + 3)
    text = to_markdown(cells, SIZES)
    assert "keeps 90.0% of the pooled teacher's union uplift" in text
    assert "with 66.7% of its rows" in text
    assert "50.0% of its cumulative time" in text
    assert "with them it is 83.3% of the rows" in text
    assert all(title in text for title in TITLES.values())
    assert all(paper in text for paper in PAPER.values())


def test_the_table_leaves_out_what_was_not_measured():
    cells = {f"{method}/1": fake(method) for method in ("rolling", "pooled", "fresh")}
    text = to_markdown(cells, SIZES)
    assert "| Fresh Teacher |" in text
    assert "Raw Replay" not in text


def test_times_of_other_code_are_not_compared():
    cells = {f"{method}/1": fake(method) for method in TITLES}
    cells["warm/1"]["code"] = "former"
    text = to_markdown(cells, SIZES)
    line = next(
        line for line in text.splitlines() if line.startswith("| Warm-start Teacher")
    )
    assert "| 0.50× | – |" in line


@pytest.mark.parametrize("method", ["rolling", "warm", "raw"])
def test_a_method_runs_through_all_windows(method):
    found = cell(f"{method}/205", SIZES, CONFIG)
    assert found["rows"] == (150 if method == "warm" else 300)
    assert np.isfinite(
        [found[name] for name in ("current", "past", "union", "recovery")]
    ).all()
    assert found["union"] == pytest.approx((2 * found["past"] + found["current"]) / 3)
    assert 0 < found["last"] <= found["total"]
    assert found.get("support", 0) <= 200
