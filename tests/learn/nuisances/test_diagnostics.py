"""Diagnostics: known figures on known residuals, and sentences."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from realloc.learn.nuisances.diagnostics import (
    Candidates,
    calibration,
    diagnose,
    r_squared,
    strongest,
)
from realloc.learn.nuisances.sample import check_sample
from tests.learn.nuisances.synthetic import draw

NONE = Candidates(
    {"ridge": 1.0, "network": 2.0}, {"ridge": 0.25, "network": 0.75}, ("stack",) * 5
)
N = 4000


@pytest.fixture(scope="module")
def rows():
    return draw(n=N, kind="linear", noise=1.0)


@pytest.fixture(scope="module")
def sample(rows):
    return check_sample(*rows.inputs, weights=None)


def test_the_truth_has_slope_one_and_leaves_nothing_on_features(rows, sample):
    found = diagnose(sample, rows.m, rows.e, NONE, NONE)
    assert found.slope == pytest.approx(
        1, abs=4 / np.sqrt(5 * N)
    )  # se of the slope: noise / (sd(m) √n)
    assert found.outcome_r2 == pytest.approx(1 - 1 / np.var(rows.outcome), abs=0.02)
    assert found.outcome_dependence.p_value > 0.01
    assert found.share_dependence.p_value > 0.01
    assert found.share_left[0] == pytest.approx(
        np.var(rows.shares[:, 0] - rows.e[:, 0]) / np.var(rows.shares[:, 0])
    )


def test_a_shrunken_mean_shows_in_slope_and_intercept(rows, sample):
    found = diagnose(sample, 5 + (rows.m - 5) / 2, rows.e, NONE, NONE)
    assert found.slope == pytest.approx(2, abs=0.1)
    assert found.intercept == pytest.approx(-5, abs=0.4)
    assert found.outcome_dependence.feature == 0
    assert "worth a look" in " ".join(found.lines())


@pytest.mark.parametrize(
    ("form", "shape"),
    [("linear", lambda v: v), ("square", lambda v: v**2), ("rank", np.arcsinh)],
)
def test_what_a_residual_still_depends_on_is_named(form, shape):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N, 4)).astype(np.float32)
    x[:, 2] = np.sinh(4 * x[:, 2]) if form == "rank" else x[:, 2]  # heavy tails
    left = shape(x[:, 2].astype(float))
    residuals = np.column_stack(
        [rng.normal(size=N), left + 0.1 * left.std() * rng.normal(size=N)]
    )
    found = strongest(x, residuals, of_shares=True)
    assert (found.feature, found.form, found.channel) == (2, form, 1)
    assert abs(found.correlation) > 0.9
    assert found.p_value < 1e-6


def test_skewness_that_depends_on_a_feature_is_not_called_a_dependence_of_the_mean():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(N, 2)).astype(np.float32)
    residuals = np.sign(x[:, :1]) * (rng.exponential(size=(N, 1)) - 1)
    assert strongest(x, residuals, of_shares=False).p_value > 0.01


def test_noise_is_not_called_a_dependence():
    rng = np.random.default_rng(2)
    p_values = [
        strongest(
            rng.normal(size=(300, 10)), rng.normal(size=(300, 1)), of_shares=False
        ).p_value
        for _ in range(40)
    ]
    assert (
        sum(p < 0.05 for p in p_values) <= 6
    )  # 40 · 5 % = 2, and three standard deviations


def test_constants_leave_figures_undefined_rather_than_nan():
    one = np.ones(100)
    assert r_squared(one, one * 2, one) is None
    assert calibration(np.arange(100.0), one, one) == (None, None)
    found = strongest(np.ones((100, 2)), np.zeros((100, 1)), of_shares=False)
    assert (found.correlation, found.p_value) == (0, 1)


def test_weights_count():
    y, m, w = (
        np.array([0.0, 1.0, 9.0]),
        np.array([0.0, 1.0, 0.0]),
        np.array([1.0, 1.0, 0.0]),
    )
    assert r_squared(y, m, w) == 1
    assert calibration(y, m, w) == pytest.approx((1, 0))


def test_sentences_and_json(rows, sample):
    found = diagnose(sample, rows.m, rows.e, NONE, NONE)
    lines = found.lines(
        features=["age", "price", "size", "margin", "rank"],
        channels=["search", "video", "mail"],
    )
    assert len(lines) == 8
    assert (
        lines[1]
        == "Out-of-fold squared error of the outcome: ridge 1, network 2. Mean weights: ridge "
        "0.25, network 0.75."
    )
    assert any(line.startswith("video: features explain") for line in lines)
    assert len(found.lines()) == 8
    assert json.loads(json.dumps(asdict(found)))["outcome"]["weights"]["network"] == 0.75
