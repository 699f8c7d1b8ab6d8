"""Effects against second implementations, and intervals against repeated tests."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from realloc.base.errors import LogError
from realloc.evaluate.abtest import Metric
from realloc.evaluate.abtest.arms import Arms, read_arms
from realloc.evaluate.abtest.metrics import measure
from tests.evaluate.abtest.simulated import make_arms, make_config

ORDERS = Metric(name="orders", value="orders", effect="absolute")
CUPED = Metric(name="orders", value="orders", before="before", effect="absolute")


def _arms(treated, clusters=None, **values) -> Arms:
    clusters = np.arange(len(treated)) if clusters is None else clusters
    return Arms(len(treated), clusters, treated, values)


def test_a_mean_is_welchs_test_of_statsmodels():
    frame = make_arms(300, lift=0.05)
    found = measure(read_arms(frame, make_config()), ORDERS, 0.95)
    one, other = (
        frame.loc[frame["arm"] == arm, "orders"] for arm in ("treatment", "control")
    )
    theirs = CompareMeans(DescrStatsW(one), DescrStatsW(other))
    assert np.allclose([found.low, found.high], theirs.tconfint_diff(usevar="unequal"))
    assert np.isclose(found.p, theirs.ttest_ind(usevar="unequal")[1])
    assert np.isclose(found.value, one.mean() - other.mean())


def test_cuped_is_the_regression_on_the_past():
    rng = np.random.default_rng(0)
    before = rng.gamma(3.0, 2.0, 4000)
    treated = rng.random(4000) < 0.3
    orders = before + rng.normal(0, 1, 4000) + 0.2 * treated
    found = measure(_arms(treated, orders=orders, before=before), CUPED, 0.95)
    design = sm.add_constant(np.stack([treated, before], axis=1).astype(float))
    theirs = sm.OLS(orders, design).fit(cov_type="HC1")
    assert np.isclose(found.value, theirs.params[1], atol=0.02 * theirs.bse[1])
    assert np.isclose(found.high - found.low, 2 * 1.96 * theirs.bse[1], rtol=0.01)


def test_cuped_takes_off_the_squared_correlation():
    rng = np.random.default_rng(1)
    before = rng.standard_normal(20_000)
    orders = 0.8 * before + 0.6 * rng.standard_normal(20_000)
    found = measure(
        _arms(rng.random(20_000) < 0.5, orders=orders, before=before), CUPED, 0.95
    )
    # ρ = .8; the standard error of ρ̂² is about 2ρ(1 − ρ²)/√n = .004.
    assert abs(found.variance_reduction - 0.64) < 4 * 0.0041
    unrelated = rng.standard_normal(20_000)
    useless = measure(
        _arms(rng.random(20_000) < 0.5, orders=orders, before=unrelated), CUPED, 0.95
    )
    assert abs(useless.variance_reduction) < 0.01


def _ratio(y, d):
    return y.sum(axis=-1) / d.sum(axis=-1)


def test_a_ratio_has_the_bootstraps_interval_and_the_hand_written_one():
    frame = make_arms(1500, seed=3)
    found = measure(read_arms(frame, make_config()), make_config().metric("margin"), 0.95)
    rng = np.random.default_rng(0)
    draws, variances = [], []
    for arm in ("control", "treatment"):
        y, d = frame.loc[frame["arm"] == arm, ["profit", "gmv"]].to_numpy().T
        rows = rng.integers(0, len(y), (3000, len(y)))
        draws.append(_ratio(y[rows], d[rows]))
        influence = (y - _ratio(y, d) * d) / d.mean()
        variances.append(influence.var(ddof=1) / len(y))
    low, high = np.quantile(100 * (draws[1] - draws[0]), [0.025, 0.975])
    assert abs((found.high - found.low) / (high - low) - 1) < 0.1
    assert abs((found.low + found.high) - (low + high)) / 2 < 0.1 * (high - low)
    assert np.isclose(
        found.high - found.low, 100 * 2 * 1.96 * np.sqrt(sum(variances)), rtol=0.01
    )


def test_percent_is_of_the_controls_level_with_the_bootstraps_interval():
    frame = make_arms(1500, seed=4, lift=0.1)
    metric = Metric(name="orders", value="orders")
    found = measure(read_arms(frame, make_config()), metric, 0.95)
    one, other = (
        frame.loc[frame["arm"] == arm, "orders"].to_numpy()
        for arm in ("treatment", "control")
    )
    assert np.isclose(found.value, 100 * (one.mean() / other.mean() - 1))
    rng = np.random.default_rng(0)
    means = [
        rng.choice(values, (3000, len(values))).mean(axis=1) for values in (one, other)
    ]
    low, high = np.quantile(100 * (means[0] / means[1] - 1), [0.025, 0.975])
    assert abs((found.high - found.low) / (high - low) - 1) < 0.1


def _covered(draw, truth, repeats=400, metric=ORDERS):
    hits = 0
    for seed in range(repeats):
        found = measure(draw(np.random.default_rng(seed)), metric, 0.95)
        hits += found.low <= truth <= found.high
    return hits / repeats


def test_intervals_of_units_cover_at_their_rate_with_and_without_cuped():
    def draw(rng):
        before = rng.gamma(2.0, 1.0, 200)
        treated = rng.permutation(200) < 20  # one in ten, as in the paper's test
        return _arms(treated, orders=rng.poisson(3 * before) + treated * 0.5, before=before)

    assert _covered(draw, 0.5) >= 0.93
    assert _covered(draw, 0.5, metric=CUPED) >= 0.93


def test_intervals_of_a_ratio_cover_at_their_rate():
    metric = Metric(name="roi", numerator="gmv", denominator="cost")

    def draw(rng):
        cost = rng.gamma(4.0, 1.0, 300)
        treated = rng.permutation(300) < 100
        return _arms(
            treated, gmv=cost * rng.gamma(10.0, 0.2, 300) * (1 + 0.1 * treated), cost=cost
        )

    assert _covered(draw, 10.0, metric=metric) >= 0.93


def _draw_clusters(rng, naive):
    sizes = rng.integers(2, 20, 40)
    shop = np.repeat(np.arange(40), sizes)
    treated = (rng.permutation(40) < 20)[shop]
    orders = rng.normal(5.0, 1.0, 40)[shop] + rng.normal(0, 1.0, len(shop)) + 0.3 * treated
    return _arms(treated, None if naive else shop, orders=orders)


def test_intervals_of_clusters_cover_at_their_rate():
    assert _covered(lambda rng: _draw_clusters(rng, naive=False), 0.3) >= 0.93


def test_rows_of_clusters_as_if_they_were_units_do_not_cover():
    assert _covered(lambda rng: _draw_clusters(rng, naive=True), 0.3) < 0.7


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda f: f.assign(cost=0.0), "total of 'cost' above 0 in the control arm, got 0"),
        (
            lambda f: f.assign(cost=f["cost"] * (f["arm"] == "control")),
            "total of 'cost' above 0 in the treatment arm",
        ),
        (
            lambda f: f.assign(orders=3.0),
            "metric 'orders' that differ between units, but in each arm all are the same",
        ),
        (
            lambda f: f.assign(orders_before=3.0),
            "pre-period column 'orders_before' that differ between units",
        ),
        (
            lambda f: f.assign(gmv_before=2 * f["cost_before"]),
            "pre-period column 'gmv_before' that differ",
        ),
        (
            lambda f: f.assign(orders_before=f["orders"]),
            "'orders_before' from before the test, but it explains metric 'orders'",
        ),
        (
            lambda f: f.assign(cost_before=0.0),
            "above 0 of the pre-period column 'cost_before'",
        ),
        (
            lambda f: f.assign(orders=-f["orders"]),
            "metric 'orders' above 0 in both arms.*Set effect = \"absolute\"",
        ),
    ],
)
def test_what_has_no_effect_to_measure_is_refused(spoil, text):
    config = make_config()
    with pytest.raises(LogError, match=text):  # noqa: PT012
        arms = read_arms(spoil(make_arms(60)), config)
        for name in ("roi", "orders"):
            measure(arms, config.metric(name), 0.95)


def test_the_order_of_rows_changes_nothing():
    frame = make_arms(200)
    shuffled = pd.DataFrame(frame.sample(frac=1.0, random_state=1))
    for metric in make_config().metrics:
        one, other = (
            measure(read_arms(table, make_config()), metric, 0.95)
            for table in (frame, shuffled)
        )
        assert np.allclose(
            [one.value, one.low, one.high], [other.value, other.low, other.high]
        )
