"""The zoo's tables at a tiny size."""

import pytest

import zoo
import zoo_nulls
from realloc.world.zoo import CARDS


@pytest.mark.slow
def test_a_cell_of_ours_has_what_the_table_shows():
    found = zoo.cell("realloc/one_segment/201", units=100)
    assert found["oracle"] > 0
    assert 0 <= found["moved"] <= 1
    assert found["total_held"] in (0.0, 1.0)
    text = zoo.report(
        {"realloc/one_segment/201": {**found, "seconds": 1.0, "code": "test"}}
    )
    assert "| one_segment | realloc |" in text


def test_rivals_are_cells_of_the_same_figures():
    found = zoo.cell("ridge_interactions/one_segment/201", units=60)
    assert {"oracle", "uplift", "moved", "outside"} <= set(found)


def test_a_null_log_of_few_rows_moves_nothing():
    found = zoo_nulls.cell("promotions_alone/2000/305", rows=600)
    assert found["moved"] == 0
    text = zoo_nulls.report(
        {"promotions_alone/2000/305": {**found, "seconds": 1.0, "code": "test"}}
    )
    assert "| promotions_alone | 2,000 | 1 | 0 | 0.0% |" in text


def test_halves_hold_a_null_world_each():
    assert {CARDS[name].half for name in zoo_nulls.NULLS} == {"tuning", "evaluation"}
