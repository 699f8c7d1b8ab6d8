"""`init`'s guess of a schema, on frames, simulated logs and real data."""

import pandas as pd
import pytest

from realloc import LogError, Schema, World
from realloc.logs.guess import guess_schema
from realloc.logs.source import open_source
from realloc.world.platform import Marketplace


def guess(source):
    return guess_schema(open_source(source))


def test_shares_without_names_are_found_by_their_sum():
    for channels in (2, 3, 5):
        logs = World(regime="hard", seed=1, channels=channels).sample(units=40, periods=5, seed=0)
        found = guess(logs.to_arrow())
        expected = logs.schema
        assert (found.unit, found.time, found.outcome) == (expected.unit, expected.time, expected.outcome)
        assert (found.channels, found.budget) == (expected.channels, expected.budget)


def test_the_marketplace_is_understood():
    market = Marketplace(seed=1)
    logs = market.sample(items=100, days=20, seed=0)
    found = guess(logs.to_arrow())
    assert (found.unit, found.time, found.outcome) == ("item_id", "date", "orders")
    assert (found.channels, found.budget, found.propensity) == (logs.schema.channels, "budget", "propensity")


def test_spends_are_found_by_name_and_totals_are_not_channels(frame):
    named = frame.rename(columns={"ads": "ads_spend", "coupon": "spend_coupon", "rebate": "RebateCost"})
    named["total_spend"] = frame[["ads", "coupon", "rebate"]].sum(axis=1)
    found = guess(named)
    assert found.channels == ("ads_spend", "spend_coupon", "RebateCost")
    assert found.budget is None


def test_spends_without_names_are_found_by_the_budget_they_sum_to(frame):
    frame["budget"] = frame[["ads", "coupon", "rebate"]].sum(axis=1)
    found = guess(frame)
    assert (found.channels, found.budget) == (("ads", "coupon", "rebate"), None)


def test_csv_and_frame_give_the_same_guess(share_frame, tmp_path):
    share_frame.to_csv(tmp_path / "logs.csv", index=False)
    assert guess(tmp_path / "logs.csv") == guess(share_frame)


def test_real_logs_are_understood(real_data):
    found = guess(real_data("conjura") / "conjura_slice_4999rows.csv")
    assert (found.unit, found.time, found.outcome) == ("MMM_TIMESERIES_ID", "DATE_DAY", "ALL_PURCHASES")
    assert len(found.channels) == 9
    assert found.currency == "CURRENCY_CODE"
    panel = guess(real_data("meridian") / "geo_all_channels.csv")
    assert (panel.unit, panel.time, panel.outcome) == ("geo", "time", "conversions")
    assert panel.channels == tuple(f"Channel{k}_spend" for k in range(5))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda f: f.drop(columns="date"), "a column of dates"),
        (lambda f: f.drop(columns="budget").assign(ads=f["ads"] * 7), "two or more channel columns"),
        (lambda f: f.drop(columns="orders"), "an outcome column"),
        (lambda f: pd.concat([f, f]), "at most one row per 'date'"),
        (lambda f: f.head(0), "the log is empty"),
    ],
)
def test_what_cannot_be_found_is_said(share_frame, change, text):
    with pytest.raises(LogError, match=text):
        guess(change(share_frame))


def test_a_guess_is_a_schema(share_frame):
    assert isinstance(guess(share_frame), Schema)
