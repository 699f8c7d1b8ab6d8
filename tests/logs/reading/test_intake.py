"""Every row is checked: one that is wrong refuses the log and says where."""

from datetime import date, datetime

import numpy as np
import pytest

from realloc import LogError, Schema, read_logs
from tests.conftest import SHARES, SPENDS, make_frame

CASES = {
    "shares as percent": (
        SHARES,
        {"ads": 30.0, "coupon": 30.0, "rebate": 40.0, "budget": 10.0},
        "percent",
    ),
    "basis points": (
        SHARES,
        {"ads": 3000.0, "coupon": 3000.0, "rebate": 4000.0, "budget": 7.0},
        "basis points",
    ),
    "amounts": (
        SHARES,
        {"ads": 3.0, "coupon": 3.0, "rebate": 4.0, "budget": 10.0},
        "leave out `budget=`",
    ),
    "rounded": (
        SHARES,
        {"ads": 0.33, "coupon": 0.33, "rebate": 0.33, "budget": 10.0},
        "look rounded",
    ),
    "not shares": (
        SHARES,
        {"ads": 0.9, "coupon": 0.9, "rebate": 0.9, "budget": 10.0},
        "sum to 1, got 2.7",
    ),
    "negative share": (
        SHARES,
        {"ads": -0.5, "coupon": 1.0, "rebate": 0.5, "budget": 10.0},
        "at least 0 in column 'ads'",
    ),
    "negative budget": (
        SHARES,
        {"ads": 0.5, "coupon": 0.5, "rebate": 0.0, "budget": -1.0},
        "'budget', got -1",
    ),
    "negative spend": (SPENDS, {"ads": -0.5}, "at least 0 in column 'ads', got -0.5"),
    "infinite spend": (SPENDS, {"ads": np.inf}, "finite numbers in column 'ads'"),
    "infinite outcome": (SPENDS, {"orders": -np.inf}, "finite numbers in column 'orders'"),
    "infinite feature": (SPENDS, {"price": np.inf}, "finite numbers in column 'price'"),
    "micros": (SPENDS, {"ads": 1e15}, "below 9e13 in column 'ads'"),
    "no unit": (SPENDS, {"item": None}, "Expected an id in column 'item'"),
    "blank unit": (SPENDS, {"item": "  "}, "Expected an id in column 'item'"),
    "no date": (SPENDS, {"date": None}, "Expected a date in column 'date'"),
    "future": (
        SPENDS,
        {"date": date(2999, 1, 1)},
        "dates up to today in column 'date', got 2999-01-01",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_wrong_row_refuses_the_log_and_says_where(name):
    schema, values, text = CASES[name]
    frame = make_frame()
    frame[["budget", "extra"]] = 1.0, 1.0
    if schema.budget:
        from tests.conftest import as_shares

        frame = as_shares(frame)
    for column, value in values.items():
        frame[column] = (
            frame[column].astype(object) if not isinstance(value, float) else frame[column]
        )
        frame.loc[7, column] = value
    with pytest.raises(LogError, match=text) as caught:
        read_logs(frame, schema)
    assert "row 8" in str(caught.value)


def test_missing_and_zero_spends_both_mean_not_used(frame):
    frame.loc[0, "coupon"] = np.nan
    frame.loc[1, "coupon"] = 0.0
    logs = read_logs(frame, SPENDS)
    assert logs.shares[0, 1] == logs.shares[1, 1] == 0
    codes = [note.code for note in logs.notes]
    assert "empty_spend" in codes
    assert "mixed_zeros" in codes


def test_rows_without_budget_or_outcome_are_set_aside_and_counted(frame):
    frame.loc[3, ["ads", "coupon", "rebate"]] = 0.0
    frame.loc[5:6, "orders"] = np.nan
    logs = read_logs(frame, SPENDS)
    assert len(logs) == 237
    assert {note.code: note.rows for note in logs.notes} == {
        "zero_budget": 1,
        "missing_outcome": 2,
    }


def test_units_can_be_dropped_by_name(frame):
    logs = read_logs(frame, Schema(**{**SPENDS.__dict__, "drop_units": ("i003", "nobody")}))
    assert logs.unit_count == 29
    assert "unknown_drop" in [note.code for note in logs.notes]


@pytest.mark.parametrize(
    ("column", "values", "text"),
    [
        ("orders", "twelve", "Expected numbers in column 'orders', got text"),
        ("ads", True, "Expected numbers in column 'ads', got true/false"),
        ("date", 20250106, "Expected dates in column 'date', got whole numbers"),
        ("item", 1.5, "text or whole numbers in column 'item'"),
    ],
)
def test_wrong_types_are_refused_by_column(frame, column, values, text):
    with pytest.raises(LogError, match=text):
        read_logs(frame.assign(**{column: values}), SPENDS)


def test_a_datetime_with_nonsense_text_is_quoted(frame):
    frame["date"] = frame["date"].astype(str)
    frame.loc[3, "date"] = "31/01/2025"
    with pytest.raises(LogError, match="'31/01/2025'"):
        read_logs(frame, SPENDS)
    frame.loc[3, "date"] = "2025-02-30"
    with pytest.raises(LogError, match="'2025-02-30'"):
        read_logs(frame, SPENDS)
    assert datetime(2025, 1, 1)  # a real one, for contrast
