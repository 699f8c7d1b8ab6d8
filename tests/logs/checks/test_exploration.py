"""Channels in use, and shares that vary."""

from dataclasses import replace

import numpy as np

from realloc import check_source, read_logs
from realloc.logs.checks.exploration import explained_by_state
from tests.conftest import SPENDS
from tests.logs.sources import codes


def test_shares_that_are_a_function_of_the_state_are_noticed(frame):
    share = (frame["price"] - frame["price"].min()) / (
        frame["price"].max() - frame["price"].min() + 1
    )
    fixed = frame.assign(
        ads=100 * share, coupon=100 * (1 - share) / 2, rebate=100 * (1 - share) / 2
    )
    assert "no_overlap" in codes(
        fixed, replace(SPENDS, known_before=("price",)), level="warning"
    )
    assert "no_overlap" not in codes(frame)


def test_shares_carried_over_with_random_moves_have_overlap(frame):
    rng = np.random.default_rng(0)
    start = np.repeat(rng.uniform(0.2, 0.6, 30), 8)
    share = start + 0.012 * rng.normal(size=len(start))
    moved = frame.assign(
        ads=100 * share, coupon=50 * (1 - share), rebate=50 * (1 - share), share_prev=start
    )
    logs = read_logs(moved, replace(SPENDS, features=("share_prev",)))
    explained, left_over = explained_by_state(logs)
    assert (
        explained > 0.98
    )  # yesterday's share explains nearly all, and still there is something to learn from
    assert 0.005 < left_over < 0.012
    assert "no_overlap" not in {finding.code for finding in logs.check().findings}


def test_rare_channels_and_too_many_channels_are_noticed(frame):
    rare = frame.assign(rebate=np.where(frame.index % 24 == 0, frame["rebate"], 0.0))
    found = next(f for f in check_source(rare, SPENDS).findings if f.code == "rare_channel")
    assert found.column == "rebate"
    assert "few_rows_per_channel" in codes(frame.head(120), level="warning")


def test_unused_and_lonely_channels(frame):
    assert "unused_channel" in codes(frame.assign(rebate=0.0), level="warning")
    lonely = frame.assign(rebate=np.where(frame["item"] == "i004", frame["rebate"], 0.0))
    found = next(
        f for f in check_source(lonely, SPENDS).findings if f.code == "one_unit_channel"
    )
    assert (found.column, found.unit, found.rows) == ("rebate", "i004", 8)
    assert "one_channel" in codes(frame.assign(rebate=0.0, coupon=0.0), level="error")


def test_no_variation_of_shares_is_an_error(frame):
    assert "no_variation" in codes(
        frame.assign(ads=10.0, coupon=20.0, rebate=30.0), level="error"
    )
    by_unit = frame.groupby("item")[["ads", "coupon", "rebate"]].transform("mean")
    assert "little_variation" in codes(frame.assign(**by_unit), level="warning")


def test_zeros_are_described(frame):
    frame.loc[::2, "coupon"] = 0.0
    found = next(f for f in check_source(frame, SPENDS).findings if f.code == "zeros")
    assert "17% of share cells are zero" in found.what
    assert "2 patterns" in found.what
