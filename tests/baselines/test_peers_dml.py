import sys
from typing import Any

import numpy as np
import pytest

from realloc.base.errors import ConfigError, MissingExtra
from realloc.baselines import BASELINES, CausalForestDMLPolicy, LinearDMLPolicy
from realloc.baselines.peers_dml import expand, expand_slopes, split_by
from realloc.baselines.peers_linear_dml import LinearDMLConfig
from tests.baselines.peers import QUICK, confounded, linear_dml
from tests.small import CONFIG, window

PEERS = ("linear_dml", "linear_dml_poly", "causal_forest", "cql")


@pytest.mark.parametrize("name", PEERS)
def test_a_missing_package_says_the_pip_line(name, monkeypatch):
    for package in ("econml.dml", "d3rlpy"):
        monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    policy = BASELINES[name](config=CONFIG)
    with pytest.raises(MissingExtra, match=r"pip install 'realloc-uplift\[peers\]'"):
        policy.fit(window())


def test_features_of_shares_have_the_slopes_they_claim():
    t, h = np.array([[0.2, -0.1], [0.4, 0.3]]), 1e-6
    for degree in (1, 2):
        ahead = [
            (expand(t + h * e, degree) - expand(t - h * e, degree)) / (2 * h)
            for e in np.eye(2)
        ]
        assert np.abs(np.stack(ahead, axis=-1) - expand_slopes(t, degree)).max() < 1e-8


def test_folds_are_split_whole():
    folds = np.array([0, 1, 2, 1, 0])
    for learn, predict in split_by(folds):
        assert sorted([*learn, *predict]) == [0, 1, 2, 3, 4]
        assert not set(folds[learn]) & set(folds[predict])


def test_unknown_settings_are_refused():
    with pytest.raises(ConfigError, match="Expected `degree` of 1 or 2, got 3"):
        LinearDMLConfig(degree=3)
    with pytest.raises(ConfigError, match="Expected one or more `models` of"):
        LinearDMLPolicy(settings=LinearDMLConfig(models=("forest",)))


def test_slopes_are_those_of_the_values(econml):
    task, p = confounded(300)
    response: Any = linear_dml(2).fit_response(task)
    x, h = task.window.x, 1e-5 * np.array([1.0, -1.0, 0.0])
    ahead = np.diff(response.values(x, np.stack([p - h, p + h], axis=1)), axis=1)[:, 0] / 2
    assert np.abs(ahead - response.slopes(x, p) @ h).max() < 1e-9


@pytest.mark.parametrize(
    "make",
    [
        lambda: linear_dml(2, "constrained"),
        lambda: CausalForestDMLPolicy("ascent", trees=20, **QUICK),
    ],
)
def test_moves_keep_support_and_budget_and_repeat(make, econml):
    logs = window()
    policy = make().fit(logs)
    decision = policy.decide(logs)
    assert (
        np.linalg.norm(decision.shares - logs.shares, axis=1).max()
        <= CONFIG.decision.max_length + 1e-9
    )
    opened = policy.support.at(policy.encoder.encode(logs).values)
    moved = decision.reason == "moved"
    kept = opened.allowed(
        np.arange(len(logs)), np.array(logs.shares), decision.shares[:, None]
    )[:, 0]
    assert moved.any()
    assert kept[moved].all()
    assert np.array_equal(make().fit(logs).decide(logs).shares, decision.shares)
