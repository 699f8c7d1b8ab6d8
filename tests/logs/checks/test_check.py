"""The check: each risk is found in a log that has it, and a sound log is not accused of anything."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from realloc import LogError, Schema, check_source, read_logs
from realloc.logs import CheckConfig, check_logs
from realloc.logs.checks.exploration import explained_by_state
from tests.conftest import SHARES, SPENDS, make_frame


def codes(source, schema=SPENDS, level=None):
    check = check_source(source, schema)
    return {finding.code for finding in check.findings if level in (None, finding.level)}


def test_a_sound_log_has_no_errors_and_only_honest_warnings(frame):
    check = check_source(make_frame(units=150), SPENDS)
    assert check.ok
    assert check.findings == ()
    assert check.variation.rows == 1200


def test_errors_of_rows_are_findings_not_exceptions(frame):
    frame.loc[5, "ads"] = -3.0
    check = check_source(frame, SPENDS)
    assert not check.ok
    (error,) = check.errors
    assert (error.code, error.column, error.rows, error.unit, error.date) == (
        "negative",
        "ads",
        1,
        "i000",
        "2025-01-11",
    )
    assert error.meaning
    assert error.advice
    with pytest.raises(LogError, match="at least 0"):
        check.require()


def test_json_holds_everything(frame):
    frame.loc[5, "ads"] = -3.0
    report = check_source(frame, SPENDS).to_json()
    assert report["ok"] is False
    assert report["errors"][0]["unit"] == "i000"
    report = check_source(make_frame(), SPENDS).to_json()
    assert report["ok"] is True
    assert report["variation"]["channels"][0]["channel"] == "ads"
    assert report["features"] == ["price", "category", "promoted"]


def test_too_little_to_learn_from_stops_a_fit_but_not_reading(frame):
    small = frame.head(16)
    logs = read_logs(small, SPENDS)
    assert {finding.code for finding in logs.check().errors} == {"too_few_rows"}
    assert "too_few_units" in codes(frame[frame["item"] == "i000"])
    with pytest.raises(LogError, match="at least 50 rows"):
        logs.check().require()


def test_few_rows_and_units_are_warnings(frame):
    assert "few_rows" in codes(frame, level="warning")
    assert "few_units" in codes(frame[frame["item"] < "i015"], level="warning")


def test_constant_outcome_is_an_error(frame):
    assert "constant_outcome" in codes(frame.assign(orders=3.0), level="error")
    guarded = replace(SPENDS, guardrails=("gmv",))
    assert "constant_outcome" in codes(frame.assign(gmv=1.0), guarded, level="error")


def test_missing_outcome_everywhere_is_an_error(frame):
    assert codes(frame.assign(orders=np.nan), level="error") == {"no_rows"}


def test_immature_outcomes_at_the_end_are_a_warning(frame):
    long = make_frame(units=30, days=12)
    assert "immature_outcome" not in codes(long)
    long.loc[long["date"] == long["date"].max(), "orders"] *= 0.3
    assert "immature_outcome" in codes(long, level="warning")


def test_several_immature_periods_are_found_with_their_first_day(frame):
    long = make_frame(units=30, days=40)
    cut = sorted(long["date"].unique())[-5]
    long.loc[long["date"] >= cut, "orders"] *= 0.2
    found = next(f for f in check_source(long, SPENDS).findings if f.code == "immature_outcome")
    assert (found.date, found.rows) == (str(cut), 150)
    assert "last 5 periods is 20%" in found.what


def test_a_day_logged_twice_at_other_hours_is_noticed(frame):
    stamped = frame.assign(date=pd.to_datetime(frame["date"]))
    doubled = pd.concat([stamped, stamped.assign(date=stamped["date"] + pd.Timedelta(hours=5))])
    found = next(f for f in check_source(doubled, SPENDS).findings if f.code == "several_a_day")
    assert found.rows == len(frame)
    assert "several_a_day" not in codes(stamped)


def test_shares_that_are_a_function_of_the_state_are_noticed(frame):
    share = (frame["price"] - frame["price"].min()) / (
        frame["price"].max() - frame["price"].min() + 1
    )
    fixed = frame.assign(
        ads=100 * share, coupon=100 * (1 - share) / 2, rebate=100 * (1 - share) / 2
    )
    assert "no_overlap" in codes(fixed, replace(SPENDS, known_before=("price",)), level="warning")
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


def test_an_outcome_that_belongs_to_the_unit_is_noticed(frame):
    frame["orders"] = frame["item"].str[1:].astype(float)
    assert "constant_within_units" in codes(frame, level="warning")


def test_rare_channels_and_too_many_channels_are_noticed(frame):
    rare = frame.assign(rebate=np.where(frame.index % 24 == 0, frame["rebate"], 0.0))
    found = next(f for f in check_source(rare, SPENDS).findings if f.code == "rare_channel")
    assert found.column == "rebate"
    assert "few_rows_per_channel" in codes(frame.head(120), level="warning")


def test_a_forgotten_budget_is_an_error_where_its_column_is_there(share_frame):
    found = next(
        f for f in check_source(share_frame, SPENDS).findings if f.code == "looks_like_shares"
    )
    assert (found.level, found.column) == ("error", "budget")


def test_currencies_in_other_spelling_or_missing_are_one(frame):
    spelled = frame.assign(currency=["EUR", "eur ", None] * 80)
    assert "mixed_currencies" not in codes(spelled)


def test_unused_and_lonely_channels(frame):
    assert "unused_channel" in codes(frame.assign(rebate=0.0), level="warning")
    lonely = frame.assign(rebate=np.where(frame["item"] == "i004", frame["rebate"], 0.0))
    found = next(f for f in check_source(lonely, SPENDS).findings if f.code == "one_unit_channel")
    assert (found.column, found.unit, found.rows) == ("rebate", "i004", 8)
    assert "one_channel" in codes(frame.assign(rebate=0.0, coupon=0.0), level="error")


def test_no_variation_of_shares_is_an_error(frame):
    assert "no_variation" in codes(frame.assign(ads=10.0, coupon=20.0, rebate=30.0), level="error")
    by_unit = frame.groupby("item")[["ads", "coupon", "rebate"]].transform("mean")
    assert "little_variation" in codes(frame.assign(**by_unit), level="warning")


def test_zeros_are_described(frame):
    frame.loc[::2, "coupon"] = 0.0
    found = next(f for f in check_source(frame, SPENDS).findings if f.code == "zeros")
    assert "17% of share cells are zero" in found.what
    assert "2 patterns" in found.what


def test_shares_without_budget_column_are_noticed(share_frame):
    assert "looks_like_shares" in codes(share_frame.drop(columns="budget"), SPENDS, level="warning")
    assert "looks_like_shares" not in codes(share_frame, SHARES)


def test_spends_that_do_not_sum_to_the_budget_are_noticed(frame):
    frame["budget"] = frame[["ads", "coupon", "rebate"]].sum(axis=1)
    assert "budget_mismatch" not in codes(frame)
    frame.loc[9:11, "budget"] += 5.0
    found = next(f for f in check_source(frame, SPENDS).findings if f.code == "budget_mismatch")
    assert (found.column, found.unit, found.date, found.rows) == ("budget", "i001", "2025-01-07", 3)


def test_a_jump_of_the_budget_is_noticed(frame):
    frame.loc[12:15, ["ads", "coupon", "rebate"]] *= 1e6
    found = next(f for f in check_source(frame, SPENDS).findings if f.code == "budget_jump")
    assert (found.unit, found.date, found.rows) == ("i001", "2025-01-10", 1)


def test_a_dominant_unit_is_noticed(frame):
    frame.loc[frame["item"] == "i002", ["ads", "coupon", "rebate"]] *= 50
    found = next(f for f in check_source(frame, SPENDS).findings if f.code == "dominant_unit")
    assert found.unit == "i002"


def test_mixed_currencies_are_an_error_unless_the_model_sees_them(frame):
    mixed = frame.assign(currency_code=np.where(frame["item"] < "i010", "EUR", "USD"))
    assert "mixed_currencies" in codes(mixed, level="error")
    assert "mixed_currencies" not in codes(frame.assign(currency_code="EUR"))
    seen = replace(SPENDS, features=("price", "currency_code"), currency="currency_code")
    assert "mixed_currencies" in codes(mixed, seen, level="warning")


def test_constant_empty_and_id_like_features_are_left_out(frame):
    worse = frame.assign(nothing=np.nan, same=1.0, note=[f"n{i}" for i in range(len(frame))])
    logs = read_logs(worse, SPENDS)
    assert logs.features == ("price", "category", "promoted")
    assert {note.code for note in logs.notes} == {"all_missing", "constant_feature", "id_like"}
    listed = replace(SPENDS, features=("price", "nothing", "same", "note"))
    assert {"all_missing", "constant_feature", "id_like"} <= codes(worse, listed, level="warning")


def test_no_features_is_a_warning(frame):
    assert "no_features" in codes(
        frame[["item", "date", "ads", "coupon", "rebate", "orders"]], level="warning"
    )


def test_every_check_can_be_reached_through_the_config(frame):
    logs = read_logs(frame, SPENDS)
    strict = check_logs(logs, CheckConfig(fewest_rows=1000))
    assert "too_few_rows" in {finding.code for finding in strict.errors}


def test_an_empty_part_of_a_log_is_an_error_not_a_crash(frame):
    logs = read_logs(frame, SPENDS)
    check = logs.take(np.zeros(len(logs), dtype=bool)).check()
    assert [finding.code for finding in check.errors] == ["no_rows"]


def test_findings_read_as_sentences(frame):
    frame.loc[5, "ads"] = -3.0
    text = str(check_source(frame, SPENDS))
    assert (
        "error: Expected amounts of at least 0 in column 'ads', got -3 (1 row; the table, row 6, unit 'i000'"
        in text
    )


def test_high_cardinality_is_kept_as_a_category():
    frame = make_frame(units=200)
    frame["brand"] = [f"brand {i % 700}" for i in range(len(frame))]
    logs = read_logs(frame, SPENDS)
    assert "brand" in logs.features
    assert len(logs.feature("brand").chunk(0).dictionary) == 700


def test_ancient_dates_are_a_warning(frame):
    old = frame.assign(date=pd.to_datetime(frame["date"]) - pd.Timedelta(days=365 * 50))
    assert "ancient_time" in codes(old, level="warning")


def test_propensities_must_be_positive_where_given(frame):
    schema = Schema(**{**SPENDS.__dict__, "propensity": "propensity"})
    given = frame.assign(propensity=np.where(frame["item"] < "i010", 0.25, np.nan))
    assert np.isnan(read_logs(given, schema).propensity).sum() == 160
    assert "not_positive" in codes(given.assign(propensity=0.0), schema, level="error")
