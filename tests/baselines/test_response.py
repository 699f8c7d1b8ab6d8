"""Every learned response × every check: exact slopes, any number of channels, zeros, one answer a
row.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from realloc import ConfigError, LogError, read_logs
from realloc.baselines import (
    GIKS,
    AdditiveROI,
    ContextOnly,
    DensityConstrained,
    RidgeInteractions,
    RLearner,
    SNetwork,
    STrees,
    VCNet,
)
from realloc.baselines.backbone import Backbone, NetworkResponse
from realloc.baselines.density_constrained import DensityConfig
from realloc.baselines.giks import GIKSConfig
from realloc.baselines.s_trees import TreeConfig
from realloc.baselines.vcnet import VCNetConfig
from tests.small import CONFIG, window

SIZES = {"members": 2, "width": 16, "epochs": 3, "least_steps": 30, "batch": 64}
SMALL = Backbone(**SIZES)
NETWORKS = {
    "s_network": (SNetwork, SMALL),
    "s_relu": (SNetwork, replace(SMALL, members=1, activation="relu")),
    "additive": (AdditiveROI, SMALL),
    "r_learner": (RLearner, SMALL),
    "context_only": (ContextOnly, SMALL),
    "vcnet": (VCNet, VCNetConfig(**SIZES)),
    "giks": (GIKS, GIKSConfig(**SIZES)),
}
TREES = TreeConfig(trees=40, leaves=8)
DENSITY = DensityConfig(turns=25, outcome=SMALL)
SMOOTH = [*NETWORKS, "ridge"]
POLICIES = [*SMOOTH, "s_trees", "density"]


def make(name, search="greedy"):
    if name == "s_trees":
        return STrees(search, CONFIG, TREES)
    if name == "density":
        return DensityConstrained(CONFIG, DENSITY)
    if name == "ridge":
        return RidgeInteractions(search, CONFIG)
    policy, settings = NETWORKS[name]
    return policy(search, CONFIG, settings)


@cache
def fitted(name, channels=3):
    return make(name).fit(window(channels=channels))


def trained(name) -> NetworkResponse:
    """The network behind a policy."""
    response = fitted(name).response
    assert isinstance(response, NetworkResponse)
    return response


def places(channels, rows=6, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(channels, 3.0), rows)


def states(name, channels, rows=6):
    return fitted(name, channels).encoder.encode(window(channels=channels)).values[:rows]


@pytest.mark.parametrize("channels", [2, 5])
@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_are_the_derivative_of_values(name, channels):
    response: Any = fitted(name, channels).response
    x = states(name, channels)
    p = places(channels)
    step = 1e-6 * np.eye(channels)
    ends = np.concatenate([p[:, None] + step, p[:, None] - step], axis=1)
    found = response.values(x, ends)
    slopes = response.slopes(x, p)
    assert np.allclose(
        (found[:, :channels] - found[:, channels:]) / 2e-6,
        slopes,
        atol=1e-4 * np.abs(slopes).max(),
    )
    assert np.abs(slopes).max() > 0.01  # it learned something that depends on the shares


@pytest.mark.parametrize("name", SMOOTH)
def test_values_of_many_places_are_those_of_each(name):
    response, x, p = fitted(name).response, states(name, 3), places(3)
    together = response.values(x, np.stack([p, p[::-1]], axis=1))
    assert np.allclose(together[:, 0], response.values(x, p[:, None])[:, 0], rtol=1e-12)
    assert np.allclose(together[:, 1], response.values(x, p[::-1, None])[:, 0], rtol=1e-12)


@pytest.mark.parametrize("channels", [2, 5])
@pytest.mark.parametrize("name", POLICIES)
def test_any_number_of_channels_is_answered_on_the_simplex(name, channels):
    policy = fitted(name, channels)
    decision = policy.decide(window(1, channels))
    assert decision.shares.min() >= 0
    assert np.allclose(decision.shares.sum(axis=1), 1, atol=1e-9)
    assert np.isfinite(decision.gain).all()
    assert np.isfinite(policy.field(window(1, channels))).all()
    assert (decision.reason == "moved").any()
    moved = decision.reason == "moved"
    assert np.array_equal(
        moved, np.abs(decision.shares - window(1, channels).shares).max(axis=1) > 0
    )


@pytest.mark.parametrize("name", POLICIES)
def test_zeros_in_the_shares_are_learned_from_and_answered(name):
    frame = window().to_pandas()
    frame.loc[::3, ["ads", "coupon"]] = np.column_stack(
        [frame["ads"] + frame["coupon"], np.zeros(len(frame))]
    )[::3]
    logs = read_logs(frame, replace(window().schema, features=None))
    assert (logs.shares == 0).any()
    decision = make(name).fit(logs).decide(logs)
    assert np.isfinite(decision.shares).all()
    assert decision.shares.min() >= 0
    assert np.allclose(decision.shares.sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize("name", POLICIES)
def test_one_answer_per_row_in_order_also_where_a_row_is_bad(name):
    frame = window(1).to_pandas().drop(columns="orders").head(12)
    frame.loc[frame.index[4], "ads"] = -1.0
    policy = fitted(name)
    answer = policy.recommend(frame)
    assert len(answer) == 12
    assert answer["reason"].iloc[4] == "bad_input"
    assert (answer["reason"].drop(answer.index[4]) != "bad_input").all()
    turned = policy.recommend(frame.iloc[::-1])
    pd.testing.assert_frame_equal(turned.iloc[::-1], answer, rtol=1e-5)


@pytest.mark.parametrize("name", POLICIES)
def test_what_cannot_be_used_is_refused(name):
    with pytest.raises(LogError, match="`fit` was not called"):
        make(name).recommend(window(1).to_pandas())
    if name != "density":
        with pytest.raises(
            ConfigError,
            match="Unknown `search` 'globl' in the baseline. Did you mean 'global'",
        ):
            make(name, "globl")


@pytest.mark.parametrize("name", ["s_network", "vcnet", "giks"])
def test_the_same_seed_gives_the_same_response(name):
    again = make(name).fit(window())
    x, p = states(name, 3), places(3)[:, None]
    assert np.array_equal(again.response.values(x, p), fitted(name).response.values(x, p))
