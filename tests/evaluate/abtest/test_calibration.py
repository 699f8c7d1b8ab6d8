"""Predicted against realised: against statsmodels, over repeated tests,
and what follows for β and τ.
"""

import numpy as np
import pytest
import statsmodels.api as sm

from realloc.base.errors import LogError
from realloc.evaluate.abtest.arms import Arms, read_arms
from realloc.evaluate.abtest.calibration import (
    CalibrationFit,
    calibrate,
    differences,
    make_bins,
    recommend_change,
)
from realloc.evaluate.result import Estimate
from tests.evaluate.abtest.simulated import make_arms, make_config

PREDICTED = {
    "predicted": "gain",
    "predicted_lower": "gain_lower",
    "predicted_metric": "orders",
}
CONFIG = make_config(**PREDICTED)
PLAIN = make_config(
    metrics={"orders": {"value": "orders"}}, predicted="gain", predicted_metric="orders"
)


def _draw(seed, slope=1.0, intercept=0.0, units=2000, shops=None, split=0.5):
    """Outcomes whose level depends on the predicted gain, too:
    only a comparison within bins is fair.
    """
    rng = np.random.default_rng(seed)
    gain = np.where(rng.random(units) < 0.5, rng.gamma(2.0, 1.0, units), 0.0)
    shop = np.arange(units) if shops is None else rng.integers(0, shops, units)
    shop = np.unique(shop, return_inverse=True)[1]
    treated = (rng.permutation(shop.max() + 1) < split * (shop.max() + 1))[shop]
    level = (
        10
        + 3 * gain
        + (0.0 if shops is None else 1.0) * rng.standard_normal(shop.max() + 1)[shop]
    )
    orders = level + 2 * rng.standard_normal(units) + treated * (intercept + slope * gain)
    return Arms(units, shop, treated, {"orders": orders, "gain": gain})


def test_differences_and_their_covariance_are_those_of_a_clustered_regression():
    arms = _draw(0, shops=100)
    gain = arms.values["gain"]
    codes = make_bins(gain, arms.treated)
    found, covariance = differences(
        arms.values["orders"], arms.treated, codes, arms.clusters
    )
    dummies = np.eye(codes.max() + 1)[codes]
    design = np.hstack([dummies, dummies * arms.treated[:, None]])
    theirs = sm.OLS(arms.values["orders"], design).fit(
        cov_type="cluster", cov_kwds={"groups": arms.clusters}
    )
    assert np.allclose(found, theirs.params[dummies.shape[1] :])
    assert np.allclose(
        covariance, theirs.cov_params()[dummies.shape[1] :, dummies.shape[1] :]
    )


@pytest.mark.parametrize("shops", [None, 80])
def test_intervals_of_share_slope_and_intercept_cover_at_their_rate(shops):
    hits, repeats = np.zeros(3), 400
    mean = 1.0  # half of the units times the mean 2 of the gamma
    for seed in range(repeats):
        arms = _draw(seed, slope=0.6, intercept=0.2, shops=shops)
        found = calibrate(arms, PLAIN, 0.25, 0.0).fit
        own = arms.values["gain"].mean() / mean
        truths = (0.6 + 0.2 / (own * mean), 0.6, 0.2)
        for i, (estimate, truth) in enumerate(
            zip((found.share, found.slope, found.intercept), truths, strict=True)
        ):
            hits[i] += estimate.low <= truth <= estimate.high
    assert (hits / repeats >= 0.93).all()


def test_units_of_clusters_as_if_they_were_randomized_do_not_cover():
    hits, repeats = 0, 200
    for seed in range(repeats):
        arms = _draw(seed, shops=80)
        naive = Arms(arms.rows, np.arange(arms.rows), arms.treated, arms.values)
        share = calibrate(naive, PLAIN, 0.25, 0.0).fit.share
        hits += share.low <= 1 <= share.high
    assert hits / repeats < 0.85


def test_treated_units_alone_would_mistake_the_level_for_the_gain():
    """The negative control of binning: outcome on gain among treated units has a slope of 4,
    the arms differ by 1.
    """
    arms = _draw(0, units=20_000)
    gain, orders = arms.values["gain"], arms.values["orders"]
    assert np.polyfit(gain[arms.treated], orders[arms.treated], 1)[0] > 3.5
    slope = calibrate(arms, PLAIN, 0.25, 0.0).fit.slope
    assert slope.low <= 1 <= slope.high < 1.3


def test_a_model_that_predicts_twice_too_much_gets_twice_the_penalty():
    arms = read_arms(make_arms(20_000, realised=0.5), CONFIG)
    found = calibrate(arms, CONFIG, 0.25, 0.1)
    assert found.change == "raise_penalty"
    assert found.fit.share.high < 1
    assert np.isclose(found.beta, 0.25 / found.fit.share.value)
    assert np.isclose(found.threshold, 0.1 / found.fit.share.value)
    assert found.sentence.startswith("Realised 0.49 of predicted (95% 0.")
    assert (
        f"raise β from 0.25 to {found.beta:.3g}, raise τ from 0.1 to {found.threshold:.3g}."
        in found.sentence
    )


def test_penalties_of_zero_may_stay_zero():
    arms = read_arms(make_arms(20_000, realised=0.5), CONFIG)
    found = calibrate(arms, CONFIG, 0.0, 0.0)
    assert (found.beta, found.threshold) == (0.0, 0.0)
    assert "β and τ are 0 and may stay" in found.sentence


def test_a_model_that_keeps_its_promises_is_left_alone():
    found = calibrate(read_arms(make_arms(20_000), CONFIG), CONFIG, 0.25, 0.1)
    assert (found.change, found.beta, found.threshold) == ("none", 0.25, 0.1)
    assert "the interval holds 1, so β and τ stay" in found.sentence
    assert "Lower bounds hold on average" in found.sentence
    assert "contradicted in 0 of 11 bins" in found.sentence


def test_a_small_test_says_that_it_cannot_tell():
    found = calibrate(read_arms(make_arms(200), CONFIG), CONFIG, 0.25, 0.1)
    assert (found.change, found.beta, found.threshold) == ("inconclusive", 0.25, 0.1)
    assert "too wide to tell" in found.sentence


def test_gains_that_do_not_come_true_stop_the_model():
    found = calibrate(read_arms(make_arms(20_000, realised=0.0), CONFIG), CONFIG, 0.25, 0.1)
    assert found.change == "stop"
    assert "do not deploy" in found.sentence
    assert "do not hold on average" in found.sentence
    failed = sum(part.high < part.predicted_lower for part in found.bins)
    assert failed > 4
    assert f"contradicted in {failed} of 11 bins" in found.sentence


def test_a_lift_that_is_not_where_it_was_predicted_is_called_so():
    found = calibrate(read_arms(make_arms(20_000, lift=0.04), CONFIG), CONFIG, 0.25, 0.1)
    assert found.change == "unranked"
    assert "does not grow with what was predicted" in found.sentence


def test_a_cost_of_every_move_raises_the_threshold():
    arms = _draw(3, slope=1.0, intercept=-0.6, units=60_000)
    found = calibrate(arms, PLAIN, 0.25, 0.0)
    assert found.change == "raise_penalty"
    assert abs(found.threshold - 0.6) < 0.2
    assert "× predicted" in found.sentence


def _estimate(value, half):
    return Estimate("x", value, value - half, value + half, 9)


@pytest.mark.parametrize(
    ("share", "slope", "intercept", "wanted"),
    [
        ((0.5, 0.2), (0.5, 2.0), (0.0, 1.0), ("raise_penalty", 0.5, 0.2)),
        ((2.0, 0.4), (2.0, 2.0), (0.0, 1.0), ("lower_penalty", 0.125, 0.05)),
        ((0.9, 0.3), (0.5, 2.0), (0.0, 1.0), ("none", 0.25, 0.1)),
        ((0.9, 0.6), (0.9, 2.0), (0.0, 1.0), ("inconclusive", 0.25, 0.1)),
        ((0.1, 0.3), (0.1, 2.0), (0.0, 1.0), ("stop", 0.25, 0.1)),
        ((1.0, 0.1), (0.5, 0.1), (0.3, 0.1), ("raise_penalty", 0.5, 0.0)),
        ((1.0, 0.1), (1.0, 0.1), (0.3, 0.1), ("none", 0.25, 0.1)),
        ((0.7, 0.1), (0.0, 0.2), (0.7, 0.1), ("unranked", 0.25, 0.1)),
        (
            (float("nan"), 0.0),
            (float("nan"), 0.0),
            (float("nan"), 0.0),
            ("inconclusive", 0.25, 0.1),
        ),
    ],
)
def test_the_rule_from_intervals_to_settings(share, slope, intercept, wanted):
    found = CalibrationFit(
        _estimate(*share), _estimate(*slope), _estimate(*intercept), _estimate(0.0, 1.0)
    )
    change, beta, threshold = recommend_change(found, 0.25, 0.1)
    assert np.allclose([beta, threshold], wanted[1:])
    assert change == wanted[0]


def test_without_predictions_for_control_only_the_share_is_told():
    frame = make_arms(20_000, realised=0.5)
    frame.loc[frame["arm"] == "control", ["gain", "gain_lower"]] = np.nan
    found = calibrate(read_arms(frame, CONFIG), CONFIG, 0.25, 0.1)
    assert len(found.bins) == 1
    assert np.isnan(found.fit.slope.value)
    assert abs(found.fit.share.value - 0.5) < 0.2
    assert "cannot be estimated without predictions for control" in found.sentence
    frame.loc[frame["arm"] == "treatment", "gain"] = np.nan
    with pytest.raises(
        LogError,
        match="predicted gain 'gain' for every unit of the treatment arm, but 10,000 are empty",
    ):
        calibrate(read_arms(frame, CONFIG), CONFIG, 0.25, 0.1)


def test_nothing_moved_is_nothing_to_calibrate():
    found = calibrate(read_arms(make_arms(200).assign(gain=0.0), CONFIG), CONFIG, 0.25, 0.1)
    assert found.change == "inconclusive"
    assert "No gain was predicted" in found.sentence


def test_bins_hold_both_arms():
    gain = np.array([0, 0, 0, 0, 1, 2, 3, 4, 5, 6], dtype=float)
    treated = np.array(
        [1, 1, 1, 1, 1, 0, 1, 0, 1, 0], dtype=bool
    )  # none of control in the bin of 0
    codes = make_bins(gain, treated)
    assert codes.tolist() == [0] * 10
    even = make_bins(np.tile(np.arange(400) / 400, 2), np.arange(800) < 400)
    assert np.ptp(np.bincount(even)[1:]) <= 2
