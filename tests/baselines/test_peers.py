import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from realloc.base.errors import ConfigError, MissingExtra
from realloc.base.simplex import tangent_basis
from realloc.baselines import BASELINES, CausalForestDMLPolicy, CQLPolicy, LinearDMLPolicy
from realloc.baselines.peers_cql import Box, pull_back
from realloc.baselines.peers_dml import expand, expand_slopes, split_by
from realloc.baselines.response import Task, everywhere
from realloc.learn.window import Window
from tests.small import CONFIG, window

PEERS = ("linear_dml", "linear_dml_poly", "causal_forest", "cql")
WHY = "needs the extra `peers`"
PLACES = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]])
QUICK = {"models": ("products",), "config": CONFIG}


@pytest.fixture
def econml():
    with warnings.catch_warnings():  # what packages of others warn about while they are imported
        warnings.simplefilter("ignore")
        pytest.importorskip("econml.dml", reason=WHY)


@pytest.fixture
def d3rlpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("d3rlpy", reason=WHY)


def confounded(rows: int = 1500, seed: int = 0) -> tuple[Task, np.ndarray]:
    """Rows whose shares and outcome both follow the state; the effect is −8‖p − c‖², c = (0.5, 0.3,
    0.2).
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 2))
    logits = np.stack([0.6 * x[:, 0], np.zeros(rows), 0.3 * x[:, 1]], axis=1) + random.normal(
        0, 0.6, (rows, 3)
    )
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (
        3 * x[:, 0]
        + x[:, 1] ** 2
        - 8 * np.square(p - PLACES[0]).sum(axis=1)
        + random.normal(0, 0.1, rows)
    )
    units = np.arange(rows) // 3
    rows_ = Window(x.astype(np.float32), p, y, units % 3, units, np.ones(rows))
    return Task(rows_, CONFIG, 0), p


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
            (expand(t + h * e, degree) - expand(t - h * e, degree)) / (2 * h) for e in np.eye(2)
        ]
        assert np.abs(np.stack(ahead, axis=-1) - expand_slopes(t, degree)).max() < 1e-8


def test_folds_are_split_whole():
    folds = np.array([0, 1, 2, 1, 0])
    for learn, predict in split_by(folds):
        assert sorted([*learn, *predict]) == [0, 1, 2, 3, 4]
        assert not set(folds[learn]) & set(folds[predict])


def test_unknown_settings_are_refused():
    with pytest.raises(
        ConfigError, match="Expected `degree` and `state_degree` of 1 or 2, got 3 and 1"
    ):
        LinearDMLPolicy(degree=3)
    with pytest.raises(ConfigError, match="Expected one or more `models` of"):
        LinearDMLPolicy(models=("forest",))


@pytest.mark.parametrize("degree", [1, 2])
def test_values_are_the_effects_of_econml(degree, econml):
    task, _ = confounded(300)
    response: Any = LinearDMLPolicy(degree=degree, **QUICK).fit_response(task)
    x, Q = task.window.x[:4], tangent_basis(3)
    values = response.values(x, np.tile(PLACES, (4, 1, 1)))
    for number, place in enumerate(PLACES):
        to = np.tile(place @ Q, (4, 1))
        assert (
            np.abs(values[:, number] - response.estimator.effect(x, T0=0 * to, T1=to)).max() < 1e-6
        )


def test_squares_recover_a_quadratic_effect_under_confounding(econml):
    task, p = confounded()
    response: Any = LinearDMLPolicy(degree=2, **QUICK).fit_response(task)
    ends = np.stack([p, np.tile(PLACES[0], (len(p), 1))], axis=1)
    found = np.diff(response.values(task.window.x, ends), axis=1)[:, 0]
    truth = 8 * np.square(p - PLACES[0]).sum(axis=1)
    assert np.corrcoef(found, truth)[0, 1] > 0.97
    assert abs(found.mean() / truth.mean() - 1) < 0.1


def test_slopes_are_those_of_the_values(econml):
    task, p = confounded(300)
    response: Any = LinearDMLPolicy(degree=2, **QUICK).fit_response(task)
    x, h = task.window.x, 1e-5 * np.array([1.0, -1.0, 0.0])
    ahead = np.diff(response.values(x, np.stack([p - h, p + h], axis=1)), axis=1)[:, 0] / 2
    assert np.abs(ahead - response.slopes(x, p) @ h).max() < 1e-9


def test_a_forest_finds_the_way_up(econml):
    task, _ = confounded(600)
    task = replace(
        task,
        window=replace(task.window, outcome=task.window.x[:, 0] + 5 * task.window.shares[:, 1]),
    )
    response: Any = CausalForestDMLPolicy(trees=20, **QUICK).fit_response(task)
    slopes = response.slopes(task.window.x, task.window.shares)
    assert np.mean(slopes.argmax(axis=1) == 1) > 0.95


@pytest.mark.parametrize(
    "make",
    [
        lambda: LinearDMLPolicy("constrained", degree=2, **QUICK),
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
    kept = opened.allowed(np.arange(len(logs)), np.array(logs.shares), decision.shares[:, None])[
        :, 0
    ]
    assert moved.any()
    assert kept[moved].all()
    assert np.array_equal(make().fit(logs).decide(logs).shares, decision.shares)


def test_actions_lead_back_to_their_shares():
    Q = tangent_basis(3)
    t = PLACES @ Q
    box = Box((t.max(axis=0) + t.min(axis=0)) / 2, np.ptp(t, axis=0) / 2)
    assert np.abs(box.actions(PLACES)).max() <= 1 + 1e-6
    assert np.abs(box.shares(box.actions(PLACES)) - PLACES).max() < 1e-6


def test_a_forbidden_action_is_pulled_back_the_straight_way():
    start, end = PLACES[:1], PLACES[1:2]
    assert pull_back(start, end, everywhere, 2.0) == pytest.approx(end)
    assert np.linalg.norm(pull_back(start, end, everywhere, 0.1) - start) == pytest.approx(0.1)
    half = pull_back(
        start, end, lambda rows, p, ends: np.abs(ends - start).max(axis=-1) <= 0.3001, 2.0
    )
    assert half == pytest.approx((start + end) / 2)
    assert np.array_equal(
        pull_back(start, end, lambda rows, p, ends: np.zeros(ends.shape[:2], bool), 2.0), start
    )


def test_the_actor_stays_within_limits(d3rlpy):
    logs = window()
    policy = CQLPolicy(config=CONFIG, steps=5).fit(logs)
    decision = policy.decide(logs)
    assert (
        np.linalg.norm(decision.shares - logs.shares, axis=1).max()
        <= CONFIG.decision.max_length + 1e-9
    )
    assert np.abs(decision.shares.sum(axis=1) - 1).max() < 1e-9
    assert np.isfinite(decision.gain).all()
    policy.limited = False
    assert np.allclose(
        policy.decide(logs).shares, policy.agent.act(policy.encoder.encode(logs).values)
    )


def test_training_repeats_and_leaves_the_global_generator_alone(d3rlpy):
    task, p = confounded(300)
    before = torch.random.get_rng_state()
    one, other = (CQLPolicy(config=CONFIG, steps=5).fit_response(task) for _ in range(2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert np.array_equal(
        one.values(task.window.x, p[:, None]), other.values(task.window.x, p[:, None])
    )
