"""Every policy × every check."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from realloc import ReAlloc, World
from realloc.base.errors import MissingExtra
from realloc.baselines import (
    BASELINES,
    DensityConstrained,
    STrees,
    TeacherOnly,
    WithoutStudent,
)
from realloc.baselines.response import ResponsePolicy
from realloc.decide.types import REASONS
from tests.baselines.test_response import DENSITY, NETWORKS, TREES
from tests.small import CONFIG

WORLD = World(regime="medium", seed=1)
TRAIN = WORLD.sample(units=200, periods=6, seed=0)
TODAY = WORLD.sample(units=60, periods=1, seed=1).to_pandas().drop(columns="orders")
SHARES = ["share_ads", "share_coupon", "share_rebate"]


SMALL = {STrees: TREES, DensityConstrained: DENSITY} | dict(
    NETWORKS[name]
    for name in ("s_network", "additive", "r_learner", "context_only", "vcnet", "giks")
)


def make(name):
    """As registered, but quick: learned responses with few steps and a small config."""
    registered = BASELINES[name]
    kind = getattr(registered, "func", registered)
    if not issubclass(kind, ResponsePolicy | ReAlloc):
        return registered()
    return registered(config=CONFIG, **({"settings": SMALL[kind]} if kind in SMALL else {}))


@cache
def fitted(name):
    try:
        return make(name).fit(TRAIN)
    except MissingExtra as missing:
        return missing


@pytest.fixture(params=list(BASELINES))
def name(request):
    return request.param


@pytest.fixture
def policy(name):
    found = fitted(name)
    if isinstance(found, MissingExtra):
        pytest.skip(str(found))
    return found


def test_answers_lie_on_the_simplex(policy):
    shares = policy.recommend(TODAY)[SHARES].to_numpy()
    assert np.all(shares >= 0)
    assert np.all(np.abs(shares.sum(axis=1) - 1) < 1e-9)


def test_reasons_are_known_and_match_the_moves(policy):
    answer = policy.recommend(TODAY)
    assert set(answer["reason"]) <= set(REASONS)
    assert np.array_equal(answer["moved"], answer["reason"] == "moved")
    assert answer["support"].between(0, 1).all()
    assert np.isfinite(answer["gain"]).all()
    bounded = answer["gain_lower"].notna()
    assert bounded[~answer["moved"]].all()
    assert (
        isinstance(policy, ResponsePolicy) or bounded.all()
    )  # a predicted response knows no bound


def test_the_same_seed_gives_the_same_answer(name, policy):
    again = make(name)
    assert again.fit(TRAIN) is again
    pd.testing.assert_frame_equal(policy.recommend(TODAY), again.recommend(TODAY))


def test_a_batch_equals_row_by_row(policy):
    whole = policy.recommend(TODAY)
    single = pd.concat(
        [policy.recommend(TODAY.iloc[[i]]) for i in range(10)], ignore_index=True
    )
    near = (
        2e-3 if isinstance(policy, TeacherOnly | WithoutStudent) else 1e-8
    )  # single precision, where a surface is flat
    pd.testing.assert_frame_equal(whole.head(10), single, atol=near)


def test_the_input_is_left_alone(policy):
    before = TODAY.copy(deep=True)
    policy.recommend(TODAY)
    pd.testing.assert_frame_equal(TODAY, before)


def test_columns_are_matched_by_name(policy):
    swapped = TODAY[TODAY.columns[::-1]]
    answer = policy.recommend(swapped)[list(policy.recommend(TODAY).columns)]
    pd.testing.assert_frame_equal(answer, policy.recommend(TODAY))
