"""The long layout: one row per unit, date and channel."""

from dataclasses import replace

import pandas as pd
import pytest

from realloc import LogError, Schema, read_logs
from realloc.logs.reading.read import load_today
from tests.conftest import SPENDS
from tests.logs.sources import same


def test_long_layout_equals_wide(frame):
    long = frame.melt(
        id_vars=["item", "date", "orders", "price", "category", "promoted"],
        value_vars=["ads", "coupon", "rebate"],
        var_name="channel",
        value_name="spend",
    ).sample(frac=1, random_state=0)
    schema = Schema(
        **{**SPENDS.__dict__, "channel_column": "channel", "spend_column": "spend"}
    )
    assert same(read_logs(long, schema), read_logs(frame, SPENDS))


def long_frame(**changes):
    rows = {
        "item": ["a", "a", "b", "b"],
        "date": ["2025-01-01"] * 4,
        "channel": ["ads", "coupon", "ads", "coupon"],
        "spend": [1.0, 2.0, 3.0, 4.0],
        "orders": [5.0, 5.0, 6.0, 6.0],
    }
    return pd.DataFrame(rows | changes)


LONG = Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=["ads", "coupon"],
    channel_column="channel",
    spend_column="spend",
    features=[],
)


def test_long_layout_fills_absent_channels_with_zero_and_takes_an_outcome_given_once():
    logs = read_logs(long_frame(orders=[5.0, None, None, 6.0]).iloc[[0, 1, 3]], LONG)
    assert logs.amounts.tolist() == [[1, 2], [0, 4]]
    assert logs.outcome.tolist() == [5, 6]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"channel": ["ads", "ads", "ads", "coupon"]},
            "each channel once per unit and date.*unit 'a'",
        ),
        (
            {"channel": ["ads", "tv", "ads", "coupon"]},
            "one of the schema's channels in column 'channel', got 'tv'",
        ),
        ({"channel": ["ads", None, "ads", "coupon"]}, "got nothing"),
        (
            {"orders": [5.0, 7.0, 6.0, 6.0]},
            "one value per unit and date in column 'orders', got 5 and 7",
        ),
        ({"spend": [1.0, -2.0, 3.0, 4.0]}, "at least 0 in column 'spend', got -2"),
    ],
)
def test_long_layout_refuses_what_it_would_have_to_guess(changes, text):
    with pytest.raises(LogError, match=text):
        read_logs(long_frame(**changes), LONG)


def test_long_shares_of_a_budget_equal_wide_ones():
    rows = long_frame(spend=[0.25, 0.75, 1.0, 0.0], total=[8.0, 8.0, 4.0, 4.0])
    shares = replace(LONG, budget="total")
    logs = read_logs(rows, shares)
    assert logs.shares.tolist() == [[0.25, 0.75], [1, 0]]
    assert logs.budget.tolist() == [8, 4]
    with pytest.raises(LogError, match=r"shares that sum to 1, got 0\.75"):
        read_logs(rows.iloc[1:], shares)


def test_a_long_schema_reads_wide_rows_too():
    wide = long_frame().pivot(
        index=["item", "date", "orders"], columns="channel", values="spend"
    )
    logs = read_logs(wide.reset_index(), LONG)
    assert same(logs, read_logs(long_frame(), LONG))
    assert logs.schema == LONG


def test_rows_to_decide_on_keep_their_places():
    rows = (
        long_frame()
        .iloc[[3, 0, 2, 1]]
        .assign(date=["2025-01-01", "2025-01-01", None, "2025-01-01"])
    )
    today = load_today(rows, LONG)
    assert today.keys["item"].to_pylist() == ["b", "a", "b"]
    assert today.rows.tolist() == [0, 1, 2]
    assert today.long is not None
    assert today.long.day.tolist() == [0, 1, 2, 1]
    assert today.long.channel.tolist() == [1, 0, 0, 1]
    assert today.positions.tolist() == [1, 0]
    assert today.logs.amounts.tolist() == [[1, 2], [0, 4]]
