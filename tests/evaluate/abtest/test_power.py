"""Plans against what simulated tests then find."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.power import TTestIndPower

from realloc.base.errors import ConfigError, LogError
from realloc.evaluate.abtest import plan_test
from realloc.evaluate.abtest.arms import Arms
from realloc.evaluate.abtest.metrics import measure
from realloc.evaluate.abtest.power import ErrorRates, needed_units, smallest_effect
from tests.evaluate.abtest.simulated import make_arms, make_config


def test_the_smallest_effect_is_that_of_statsmodels():
    ours = smallest_effect(4.0, 400, ErrorRates(0.05, 0.8, 0.1))
    theirs = 2 * TTestIndPower().solve_power(
        None, nobs1=360, ratio=40 / 360, alpha=0.05, power=0.8
    )
    assert np.isclose(
        ours, theirs, rtol=0.03
    )  # they pool the variances: more degrees of freedom


@pytest.mark.parametrize("units", [12, 100, 300_000])
@pytest.mark.parametrize("split", [0.5, 0.1])
def test_units_and_effects_lead_back_to_each_other(units, split):
    rates = ErrorRates(0.05, 0.8, split)
    assert abs(needed_units(3.0, smallest_effect(3.0, units, rates), rates) - units) <= 1


def _draw(rng, clusters, effect, split):
    """Shops of different size whose items share a level, with a past."""
    sizes = rng.integers(3, 12, clusters)
    shop = np.repeat(np.arange(clusters), sizes)
    level = rng.normal(5.0, 1.0, clusters)[shop]
    treated = (rng.permutation(clusters) < split * clusters)[shop]
    before = level + rng.normal(0, 1.0, len(shop))
    orders = level + rng.normal(0, 1.0, len(shop)) + effect * treated
    return treated, shop, orders, before


@pytest.mark.parametrize(("clusters", "split"), [(40, 0.5), (150, 0.2)])
def test_a_test_of_clusters_finds_the_planned_effect_as_often_as_planned(clusters, split):
    metrics = {"orders": {"value": "orders", "before": "before", "effect": "absolute"}}
    config = make_config(cluster="shop", metrics=metrics, split=split)
    _, shop, orders, before = _draw(np.random.default_rng(99), 4000, 0.0, split)
    past = pd.DataFrame(
        {"item": np.arange(len(shop)), "shop": shop, "orders": orders, "before": before}
    )
    planned = plan_test(past, config, units=clusters)["orders"]
    metric, found, repeats = config.metric("orders"), 0, 400
    for seed in range(repeats):
        treated, shop, orders, before = _draw(
            np.random.default_rng(seed), clusters, planned.effect, split
        )
        found += (
            measure(
                Arms(len(shop), shop, treated, {"orders": orders, "before": before}),
                metric,
                0.95,
            ).p
            < 0.05
        )
    assert abs(found / repeats - 0.8) < 4 * np.sqrt(0.8 * 0.2 / repeats)
    assert planned.variance_reduction > 0.5


def test_items_of_clusters_as_if_they_were_randomized_promise_too_much():
    metrics = {"orders": {"value": "orders", "effect": "absolute"}}
    _, shop, orders, _ = _draw(np.random.default_rng(99), 4000, 0.0, 0.5)
    past = pd.DataFrame({"item": np.arange(len(shop)), "shop": shop, "orders": orders})
    clusters = plan_test(past, make_config(cluster="shop", metrics=metrics))["orders"]
    items = plan_test(past, make_config(metrics=metrics))["orders"]
    # Half the variance is the shop's: variance is 1 + (Σm²/Σm − 1)/2 times what it seems, for shops
    # of m items.
    sizes = np.bincount(shop)
    design = 1 + ((sizes**2).sum() / sizes.sum() - 1) / 2
    assert np.isclose(clusters.effect / items.effect, np.sqrt(design), rtol=0.05)


def test_looks_and_goals_ask_for_a_larger_effect():
    frame = make_arms(500)
    plain = plan_test(frame, make_config(correction="none"))["orders"]
    goals = plan_test(frame, make_config())["orders"]
    looks = plan_test(frame, make_config(correction="none", looks=[0.25, 0.5, 0.75, 1.0]))[
        "orders"
    ]
    assert plain.effect < looks.effect < goals.effect
    assert np.isclose(goals.alpha, 0.05 / 3)


def test_a_plan_reads_as_sentences_and_as_a_frame():
    plan = plan_test(make_arms(500).drop(columns="arm"), make_config(), units=50_000)
    assert plan.to_frame()["metric"].tolist() == ["orders", "gmv", "cost", "roi", "margin"]
    assert "orders: 50,000 units find an effect of" in str(plan).splitlines()[0]
    assert "wide enough to be detected" in str(plan).splitlines()[1]
    assert plan.to_json()[2]["variance_reduction"] is None
    needed = plan_test(make_arms(500), make_config(), effect=1.0)
    assert all(np.isclose(row.effect, 1.0, rtol=0.01) for row in needed)
    with pytest.raises(KeyError, match="got 'order'"):
        plan["order"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"power": 1.0}, "`power` between"),
        ({"effect": -1.0}, "`effect` above 0"),
        ({"effect": 1.0, "units": 100}, "one of them follows"),
        ({"units": 2}, "at least 4 `units`"),
    ],
)
def test_a_plan_that_cannot_be_meant_is_refused(given, text):
    with pytest.raises(ConfigError, match=text):
        plan_test(make_arms(60), make_config(), **given)


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("orders", 1.0, "differ between units"),
        ("cost", 0.0, "above 0"),
        ("orders", -1.0, "above 0 for an effect in percent"),
    ],
)
def test_a_past_that_tells_nothing_is_refused(column, value, text):
    with pytest.raises(LogError, match=text):
        plan_test(make_arms(60).assign(**{column: value}), make_config())
