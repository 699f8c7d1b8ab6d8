"""The static table at a tiny size: orderings that no seed should turn around."""

from functools import cache

import pytest

import ablation
import static_quality
from static_quality import cell, to_markdown

SIZES = ({"units": 150, "periods": 4, "seed": 0}, {"units": 60, "periods": 2, "seed": 1})


@cache
def measured(method):
    return {**cell(f"{method}/hard/205", SIZES), "seconds": 1.0, "code": "test"}


@pytest.mark.parametrize("method", ["s_nn", "s_gbdt"])
def test_global_search_leaves_the_support_and_keeps_little(method):
    found = measured(method)
    assert found["global"]["oos_rate"] > 0.5
    assert found["greedy"]["oos_rate"] < 0.2
    assert found["global"]["deployable_uplift"] < 0.3 < found["global"]["moved"]


def test_references_are_what_they_are():
    assert measured("logging")["as it is"]["deployable_uplift"] == 0
    assert measured("uniform")["as it is"]["oos_rate"] > 0
    assert measured("uniform")["as it is"]["moved"] == 1


def test_better_searches_promise_more():
    """Of one response inside one support: the larger reachable set holds the better prediction."""
    found = measured("s_nn")
    promised = {name: found[name]["bias"] + found[name]["raw_uplift"] for name in ("greedy", "ascent")}
    assert promised["ascent"] > promised["greedy"] > 0


def test_the_true_support_rejects_nothing():
    assert measured("s_nn")["true support"]["oos_rate"] == 0


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Where the one model of this module is kept."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("models")
        patch.setenv("REALLOC_MODELS", str(folder))
        yield folder


@pytest.mark.slow
def test_realloc_moves_nothing_where_the_log_proves_nothing(models):
    """600 rows at this noise: rivals move and lose all the same."""
    found = cell("realloc/hard/205", SIZES)
    assert set(found) == {"field", "greedy", "ascent", "fallback", "true support"}
    assert {found[name]["moved"] for name in ("greedy", "ascent", "fallback")} == {0.0}
    assert found["ascent"]["deployable_uplift"] == 0
    assert measured("s_nn")["greedy"]["moved"] > 0.5
    assert measured("s_nn")["greedy"]["harm_rate"] > 0.1
    assert len(list(models.glob("*/hard-205-*"))) == 1


@pytest.mark.slow
def test_an_ablation_of_the_decision_shares_the_model(models):
    whole, free = (ablation.cell(f"{variant}/205", SIZES) for variant in ("realloc", "without_support"))
    assert len(list(models.glob("*/hard-205-*"))) == 1  # one model serves both
    assert free["field"] == whole["field"]
    text = ablation.to_markdown(
        {
            f"{name}/205": {**found, "seconds": 1.0, "code": "test"}
            for name, found in (("realloc", whole), ("without_support", free))
        },
        (205,),
    )
    assert "| **ReAlloc** |" in text
    assert "| w/o support |" in text


def test_the_table_names_every_method_and_search():
    cells = {f"{method}/hard/205": measured(method) for method in ("s_nn", "logging")}
    text = to_markdown(cells, ("hard",))
    for line in ("| S-NN, global | ", "| S-NN, constrained | ", "| Logging | 0.000 / 0.000 |", ".93/.84"):
        assert line in text
    assert static_quality.values(cells, "s_nn", "hard", "greedy", "raw_uplift").keys() == {205}
