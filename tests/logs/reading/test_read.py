"""Reading: the same table whatever the order; nothing is inferred silently."""

from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest

from realloc import LogError, Schema, check_source, read_logs
from tests.conftest import SPENDS
from tests.logs.sources import same


def test_order_of_rows_and_columns_does_not_matter(frame):
    shuffled = frame.sample(frac=1, random_state=3)[list(frame.columns[::-1])]
    listed = Schema(**{**SPENDS.__dict__, "features": ("price", "category", "promoted")})
    assert same(read_logs(frame, listed), read_logs(shuffled, listed))


def test_features_may_be_missing_dates_categories_or_flags(frame):
    frame["launched"] = pd.to_datetime("2024-05-01")
    frame.loc[4, ["price", "launched"]] = None
    frame.loc[4, "category"] = None
    frame["promoted"] = frame["promoted"].astype("boolean")
    frame.loc[4, "promoted"] = None
    frame["fine"] = [f"c{i % 97}" for i in range(len(frame))]
    logs = read_logs(
        frame,
        Schema(
            **{
                **SPENDS.__dict__,
                "features": ("price", "launched", "category", "promoted", "fine"),
            }
        ),
    )
    assert [
        logs.table[name].null_count for name in ("launched", "category", "promoted")
    ] == [
        1,
        1,
        1,
    ]
    assert np.isnan(logs.feature("price").to_numpy()[4])
    assert len(logs.feature("fine").chunk(0).dictionary) == 97


def test_times_of_day_are_kept_and_zones_become_utc(frame):
    hours = pd.to_datetime(frame["date"]) + pd.Timedelta(hours=13)
    logs = read_logs(frame.assign(date=hours), SPENDS)
    assert logs.times[0] == np.datetime64("2025-01-06T13:00")
    assert "no_time_zone" in [note.code for note in logs.notes]
    zoned = read_logs(frame.assign(date=hours.dt.tz_localize("Europe/Berlin")), SPENDS)
    assert zoned.times[0] == np.datetime64("2025-01-06T12:00")
    text = read_logs(
        frame.assign(date=hours.dt.strftime("%Y-%m-%dT%H:%M:%S+01:00")), SPENDS
    )
    assert text.times[0] == np.datetime64("2025-01-06T12:00")


def test_progress_is_reported_up_to_the_last_row(frame):
    calls = []
    read_logs(frame, SPENDS, on_progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (240, 240)


def test_today_may_be_set_to_read_an_old_log_as_of_then(frame):
    with pytest.raises(LogError, match="dates up to today"):
        read_logs(frame, SPENDS, today=date(2025, 1, 10))


def test_all_problems_come_in_one_message(frame):
    frame.loc[2, "ads"] = -1.0
    frame.loc[3, "orders"] = np.inf
    with pytest.raises(
        LogError, match=r"2 problems in the log:\n  1\. .*'ads'.*\n  2\. .*'orders'"
    ):
        read_logs(frame, SPENDS)


def test_problems_of_rows_keys_and_the_whole_log_come_in_one_list(frame):
    frame["currency"] = ["EUR", "USD"] * 120
    frame.loc[2, "ads"] = -1.0
    frame = pd.concat([frame, frame.iloc[[7]]], ignore_index=True)
    with pytest.raises(LogError, match="3 problems in the log") as told:
        read_logs(frame, SPENDS)
    for part in (
        "at least 0 in column 'ads', got -1",
        "one row per unit and date",
        "in column 'currency'",
    ):
        assert part in str(told.value)
    check = check_source(frame, SPENDS)
    assert {error.code for error in check.errors} == {
        "negative",
        "duplicates",
        "mixed_currencies",
    }


def test_a_copy_of_a_wrong_row_is_found_in_the_same_round(frame):
    frame.loc[2, "ads"] = -1.0
    frame = pd.concat([frame, frame.iloc[[2]]], ignore_index=True)
    assert {error.code for error in check_source(frame, SPENDS).errors} == {
        "negative",
        "duplicates",
    }


def test_rows_without_key_do_not_count_as_copies(frame):
    frame.loc[:3, "item"] = None
    frame.loc[:1, "date"] = None
    assert {error.code for error in check_source(frame, SPENDS).errors} == {
        "missing_unit",
        "missing_time",
    }


def test_the_long_layout_lists_all_problems_too(frame):
    long = frame.melt(
        ["item", "date", "orders"], ["ads", "coupon", "rebate"], "channel", "spend"
    )
    long.loc[2, "spend"] = -1.0
    long.loc[4, "channel"] = "radio"
    schema = replace(SPENDS, channel_column="channel", spend_column="spend")
    long["currency"] = np.where(long["item"] < "i015", "EUR", "USD")
    assert {error.code for error in check_source(long, schema).errors} == {
        "negative",
        "unlisted_channel",
        "mixed_currencies",
    }


def test_what_the_wrong_rows_leave_over_is_not_judged_where_it_is_little(frame):
    frame.loc[3:, "ads"] = -1.0
    frame["orders"] = 5.0
    assert {error.code for error in check_source(frame, SPENDS).errors} == {"negative"}
    frame.loc[120:, "ads"] = 1.0
    assert {error.code for error in check_source(frame, SPENDS).errors} == {
        "negative",
        "constant_outcome",
    }
