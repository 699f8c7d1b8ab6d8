"""Gains along one channel, against a world where they are known."""

import numpy as np
import pandas as pd
import pytest

from realloc import LogError, ReAlloc, Schema
from tests.advised import CLOSE, advised, asked

SCHEMA = Schema(
    unit="shop", time="day", outcome="orders", channels=["ads", "coupon", "rebate"]
)


def market(units: int = 120, seed: int = 1) -> pd.DataFrame:
    """Orders are 12 · share of ads · (1 − share of ads): best at one half."""
    random = np.random.default_rng(seed)
    n = units * 6
    share = random.uniform(0.15, 0.65, n)
    rest = (1 - share)[:, None] * random.dirichlet([9.0, 9.0], n)
    frame = pd.DataFrame(
        {
            "shop": np.repeat([f"s{seed}-{k}" for k in range(units)], 6),
            "day": np.tile(pd.date_range("2026-01-05", periods=6), units),
            "price": random.normal(size=n).round(4),
        }
    )
    frame["ads"] = 100 * share
    frame["coupon"] = 100 * rest[:, 0]
    frame["rebate"] = 100 * rest[:, 1]
    frame["orders"] = 20 + 12 * share * (1 - share) + 0.1 * random.normal(size=n)
    return frame


@pytest.fixture(scope="module")
def model() -> ReAlloc:
    return ReAlloc(CLOSE, SCHEMA, quiet=True).fit(market())


@pytest.fixture
def rows() -> pd.DataFrame:
    """One shop, twice; it stands at a fifth for ads."""
    row = {"shop": "x", "price": 0.0, "ads": 20.0, "coupon": 40.0, "rebate": 40.0}
    days = pd.date_range("2026-01-12", periods=2)
    return pd.DataFrame([row | {"day": days[0], "ads": 90.0}, row | {"day": days[1]}])


def truth(share):
    return 12 * share * (1 - share) - 12 * 0.2 * 0.8


def test_the_curve_is_that_of_the_world_where_the_logs_reach(model, rows):
    found = model.curve(rows, "x", "ads")
    assert (found.unit, found.time, found.current) == ("x", "2026-01-13", 0.2)
    low, high = found.supported
    assert low <= 0.2
    assert 0.5 < high < 0.75  # logs end at .65
    known = [point for point in found.points if point.supported]
    assert len(known) > 15
    right = [point.low <= truth(point.share) <= point.high for point in known]
    assert np.mean(right) > 0.9
    assert found.best.share == pytest.approx(0.5, abs=0.08)
    assert all(point.support < 1 for point in found.points if point.share > 0.9)


def test_the_current_share_gains_nothing_and_gains_are_those_of_the_model(model, rows):
    found = model.curve(rows, "x", "ads")
    now = next(point for point in found.points if point.share == 0.2)
    assert (now.gain, now.low, now.high) == (0.0, 0.0, 0.0)
    point = found.points[20]
    to = [[point.share, (1 - point.share) / 2, (1 - point.share) / 2]]
    assert model.gain(rows.tail(1), to)[0] == pytest.approx(point.gain, rel=1e-6)


def test_it_says_in_words_what_pays_and_that_the_budget_stays(model, rows):
    told = str(model.curve(rows, "x", "ads"))
    assert told.startswith("x on 2026-01-13: ads has 20 %. The logs hold evidence for ")
    assert "Most is expected at " in told
    assert told.endswith("a larger or smaller budget would bring is not estimated.")
    frame = model.curve(rows, "x", "ads").to_frame()
    assert list(frame.columns) == ["share", "gain", "low", "high", "support", "supported"]


def test_outside_of_the_logs_there_is_no_evidence(model, rows):
    found = model.curve(rows.head(1), "x", "ads")  # stands at 90 of 170, the rest as logged
    far = model.curve(rows.assign(ads=9000.0), "x", "ads")
    assert found.supported
    assert far.supported is None
    assert "hold no evidence about other shares" in str(far)


def test_a_channel_without_budget_and_one_with_all_of_it_have_curves():
    model = advised()
    frame = asked(6)
    frame["rebate"] = 0.0
    unit = frame["item"].iloc[0]
    assert model.curve(frame, unit, "rebate").points[0].gain == 0
    only = frame.assign(ads=0.0, coupon=10.0)
    assert model.curve(only, unit, "coupon").points[-1].gain == 0


def test_unknown_names_are_refused(model, rows):
    with pytest.raises(LogError, match="Expected one of the channels ads, coupon, rebate"):
        model.curve(rows, "x", "adds")
    with pytest.raises(LogError, match="'y' is not among them"):
        model.curve(rows, "y", "ads")
