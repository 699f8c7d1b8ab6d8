"""What may be wrong with a log as a whole."""

from dataclasses import replace

import pandas as pd

from realloc import check_source
from tests.conftest import SPENDS, make_frame
from tests.logs.sources import codes


def test_few_rows_and_units_are_warnings(frame):
    assert "few_rows" in codes(frame, level="warning")
    assert "few_units" in codes(frame[frame["item"] < "i015"], level="warning")


def test_constant_outcome_is_an_error(frame):
    assert "constant_outcome" in codes(frame.assign(orders=3.0), level="error")
    guarded = replace(SPENDS, guardrails=("gmv",))
    assert "constant_outcome" in codes(frame.assign(gmv=1.0), guarded, level="error")


def test_immature_outcomes_at_the_end_are_a_warning(frame):
    long = make_frame(units=30, days=12)
    assert "immature_outcome" not in codes(long)
    long.loc[long["date"] == long["date"].max(), "orders"] *= 0.3
    assert "immature_outcome" in codes(long, level="warning")


def test_several_immature_periods_are_found_with_their_first_day(frame):
    long = make_frame(units=30, days=40)
    cut = sorted(long["date"].unique())[-5]
    long.loc[long["date"] >= cut, "orders"] *= 0.2
    found = next(
        f for f in check_source(long, SPENDS).findings if f.code == "immature_outcome"
    )
    assert (found.date, found.rows) == (str(cut), 150)
    assert "last 5 periods is 20%" in found.what


def test_a_day_logged_twice_at_other_hours_is_noticed(frame):
    stamped = frame.assign(date=pd.to_datetime(frame["date"]))
    doubled = pd.concat(
        [stamped, stamped.assign(date=stamped["date"] + pd.Timedelta(hours=5))]
    )
    found = next(
        f for f in check_source(doubled, SPENDS).findings if f.code == "several_a_day"
    )
    assert found.rows == len(frame)
    assert "several_a_day" not in codes(stamped)


def test_an_outcome_that_belongs_to_the_unit_is_noticed(frame):
    frame["orders"] = frame["item"].str[1:].astype(float)
    assert "constant_within_units" in codes(frame, level="warning")


def test_no_features_is_a_warning(frame):
    assert "no_features" in codes(
        frame[["item", "date", "ads", "coupon", "rebate", "orders"]], level="warning"
    )
