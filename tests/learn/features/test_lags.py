"""Lags: rows see the past of their unit, and nothing else."""

import json
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from realloc import LogError, read_logs
from realloc.learn.features.encode import Encoder, FeatureConfig, fit_encoder
from realloc.logs.reading.read import load_today
from tests.conftest import SPENDS, make_frame

SCHEMA = replace(SPENDS, features=("price",))
LAGS = FeatureConfig(lags=3)


def logs_of(frame):
    return read_logs(frame, SCHEMA, today=date(2100, 1, 1))


def today_of(frame):
    return load_today(frame.drop(columns="orders"), SCHEMA).logs


def past_of(encoder, logs):
    """The lag columns of each row, without the others."""
    encoded = encoder.encode(logs)
    first = encoded.names.index("last outcome")
    return pd.DataFrame(encoded.values[:, first:], columns=encoded.names[first:])


def upto(frame, day):
    return frame[frame["date"] <= date(2025, 1, day)]


def on(frame, day):
    return frame[frame["date"] == date(2025, 1, day)]


@pytest.fixture
def gaps():
    """A log in which days and whole units are missing here and there."""
    frame = make_frame(units=12, days=14)
    return frame[np.random.default_rng(3).random(len(frame)) < 0.7].reset_index(drop=True)


def test_lags_are_off_unless_asked_for(frame):
    logs = logs_of(frame)
    encoder = fit_encoder(logs)
    assert encoder.history is None
    assert encoder.encode(logs).names == ("log budget", "price")
    assert encoder.remember(logs) is encoder


def test_columns_are_what_a_loop_over_rows_would_find(gaps):
    logs = logs_of(gaps)
    encoder = fit_encoder(logs, LAGS)
    found, lags = past_of(encoder, logs), encoder.history

    def scaled(values, scale):
        return np.clip((np.asarray(values) - scale.centre) / scale.spread, -8, 8)

    table = logs.to_pandas()
    budget = logs.budget
    for i in range(len(table)):
        before = table.index[
            (table["item"] == table["item"][i]) & (table["date"] < table["date"][i])
        ]
        assert found["history missing"][i] == (len(before) == 0)
        if len(before) == 0:
            assert np.all(found.drop(columns="history missing").iloc[i] == 0)
            continue
        last = before[-1]
        days = (table["date"][i] - table["date"][last]).days
        outcomes = scaled(table["orders"][before[-3:]], lags.outcome)
        expected = [
            outcomes[-1],
            outcomes.mean(),
            *(scaled(p, scale) for p, scale in zip(logs.shares[last], lags.shares, strict=True)),
            scaled(np.log(budget[i] / budget[last]), lags.budget_change),
            scaled(np.log(days), lags.days_since),
            0.0,
        ]
        assert np.allclose(found.iloc[i], expected, atol=1e-5)


def test_names_say_what_each_column_is(frame):
    logs = logs_of(frame)
    assert list(past_of(fit_encoder(logs, LAGS), logs)) == [
        "last outcome",
        "mean of the last 3 outcomes",
        "last share of ads",
        "last share of coupon",
        "last share of rebate",
        "log budget change",
        "log days since the last row",
        "history missing",
    ]


@pytest.mark.parametrize(("column", "known"), [("orders", []), ("ads", ["log budget change"])])
def test_a_planted_leak_is_not_seen_and_the_past_is(gaps, column, known):
    """`known`: what may change in the row itself, because its budget is known before it is split."""
    encoder = fit_encoder(logs_of(gaps), LAGS)
    before = past_of(encoder, logs_of(gaps))
    for row in range(0, len(gaps), 7):
        changed = gaps.copy()
        changed.loc[row, column] = 77_777.0
        moved = before != past_of(encoder, logs_of(changed))
        later = (gaps["item"] == gaps["item"][row]) & (gaps["date"] > gaps["date"][row])
        assert not moved.drop(columns=known)[~later].any(axis=None)
        assert not moved[~later].drop(index=row).any(axis=None)
        assert moved[later].head(1).any(axis=1).all()  # the control: the next row does see it


def test_outcomes_of_a_row_and_of_later_days_can_be_anything(gaps):
    encoder = fit_encoder(logs_of(gaps), LAGS)
    late = gaps["date"] >= date(2025, 1, 14)
    changed = gaps.assign(orders=np.where(late, -1e9, gaps["orders"]))
    until = (gaps["date"] <= date(2025, 1, 14)).to_numpy()
    before, after = past_of(encoder, logs_of(gaps)), past_of(encoder, logs_of(changed))
    assert before[until].equals(after[until])
    assert not before[~until].equals(after[~until])


def test_rows_of_the_same_time_do_not_see_each_other(gaps):
    encoder = fit_encoder(logs_of(upto(gaps, 16)), LAGS)
    next_day = make_frame(units=12, days=14)
    next_day = on(next_day, 17)
    twice = pd.concat([next_day, next_day.assign(ads=1.0)], ignore_index=True)
    alone, both = past_of(encoder, today_of(next_day)), past_of(encoder, today_of(twice))
    same_budget = both.iloc[::2].reset_index(drop=True)
    assert same_budget.equals(alone)
    rest = alone.columns.drop("log budget change")
    assert both.iloc[1::2].reset_index(drop=True)[rest].equals(alone[rest])


def test_of_repeated_rows_the_same_one_is_looked_back_at_in_any_order(gaps):
    encoder = fit_encoder(logs_of(upto(gaps, 16)), LAGS)
    whole = make_frame(units=12, days=14)
    days = pd.concat(
        [on(whole, 17), on(whole, 17).assign(ads=1.0), on(whole, 18)], ignore_index=True
    )
    logs = today_of(days)
    assert_order_does_not_matter(encoder, logs)


def test_memory_gives_the_next_day_what_the_whole_log_gives(gaps):
    days = sorted(gaps["date"].unique())
    whole = logs_of(gaps)
    for lags in (1, 3, 28):
        encoder = fit_encoder(logs_of(gaps[gaps["date"] < days[-1]]), FeatureConfig(lags=lags))
        last = whole.times == np.datetime64(days[-1])
        remembered = past_of(encoder, today_of(gaps[gaps["date"] == days[-1]]))
        assert remembered.equals(past_of(encoder, whole)[last].reset_index(drop=True))


def test_training_rows_are_encoded_as_when_nothing_was_remembered(gaps):
    logs = logs_of(gaps)
    encoder = fit_encoder(logs, LAGS)
    empty = encoder.history.memory.remember(logs.take(np.zeros(len(logs), dtype=bool)), 0)
    blank = replace(encoder, history=replace(encoder.history, memory=empty))
    assert len(empty.rows) == 0
    assert past_of(encoder, logs).equals(past_of(blank, logs))
    assert encoder.encode(logs).report == {}


def test_order_of_rows_does_not_matter(gaps):
    logs = logs_of(gaps)
    encoder = fit_encoder(logs, LAGS)
    assert_order_does_not_matter(encoder, logs)
    shuffled = logs.take(np.random.default_rng(1).permutation(len(logs)))
    assert fit_encoder(shuffled, LAGS) == encoder


def assert_order_does_not_matter(encoder, logs):
    order = np.random.default_rng(0).permutation(len(logs))
    assert np.array_equal(
        encoder.encode(logs.take(order)).values, encoder.encode(logs).values[order]
    )


def test_memory_is_bounded_and_holds_the_last_rows(gaps):
    memory = fit_encoder(logs_of(gaps), LAGS).history.memory
    expected = gaps.sort_values(["item", "date"]).groupby("item").tail(3)
    assert memory.units.to_pylist() == sorted(gaps["item"].unique())
    assert np.array_equal(memory.rows.outcome, expected["orders"])
    assert np.bincount(memory.rows.codes).max() == 3


def test_remembering_windows_one_by_one_is_remembering_them_all(gaps):
    whole = fit_encoder(logs_of(gaps), LAGS)
    early = fit_encoder(logs_of(upto(gaps, 10)), LAGS)
    stepwise = early.remember(logs_of(gaps[gaps["date"] > date(2025, 1, 10)]))
    assert stepwise.history.memory == whole.history.memory
    assert stepwise.remember(logs_of(upto(gaps, 12))).history.memory == whole.history.memory
    assert early.history.memory != whole.history.memory
    assert stepwise.numbers == early.numbers
    assert np.bincount(stepwise.history.memory.rows.codes).max() == 3


def test_new_units_enter_memory_and_corrected_outcomes_replace_old_ones(gaps):
    encoder = fit_encoder(logs_of(gaps[gaps["item"] > "i003"]), LAGS)
    corrected = encoder.remember(logs_of(gaps.assign(orders=gaps["orders"] + 1)))
    assert (
        corrected.history.memory
        == fit_encoder(logs_of(gaps.assign(orders=gaps["orders"] + 1)), LAGS).history.memory
    )


def test_an_outcome_that_came_in_since_beats_a_remembered_row_and_a_plan_does_not(gaps):
    encoder = fit_encoder(logs_of(gaps), LAGS)
    last = gaps.groupby("item").tail(1)
    tomorrow = last.assign(date=date(2025, 2, 1))
    plan = pd.concat(
        [last.assign(ads=1.0), tomorrow], ignore_index=True
    )  # no outcomes: what is remembered happened
    remembered = past_of(encoder, today_of(tomorrow))
    assert past_of(encoder, today_of(plan)).iloc[1::2].reset_index(drop=True).equals(remembered)
    update = past_of(encoder, logs_of(plan))
    assert not np.allclose(update["last share of ads"].iloc[1::2], remembered["last share of ads"])


def test_earlier_rows_without_outcomes_give_shares_and_days_but_no_outcome(gaps):
    encoder = fit_encoder(logs_of(gaps), LAGS)
    last = gaps.groupby("item").tail(1)
    two_days = pd.concat(
        [last.assign(date=date(2025, 2, 1)), last.assign(date=date(2025, 2, 2), ads=5.0)]
    )
    past = past_of(encoder, today_of(two_days))
    first, second = past.iloc[::2].reset_index(drop=True), past.iloc[1::2].reset_index(drop=True)
    outcomes = ["last outcome", "mean of the last 3 outcomes"]
    assert first[outcomes].equals(second[outcomes])
    assert np.all(second["log days since the last row"] < first["log days since the last row"])


def test_unseen_units_have_no_history_and_are_counted(gaps):
    encoder = fit_encoder(logs_of(gaps[gaps["item"] > "i002"]), LAGS)
    day = on(make_frame(units=12, days=14), 19).assign(date=date(2025, 1, 20))
    encoded = encoder.encode(today_of(day))
    assert encoded.report["history"] == pytest.approx(3 / 12)
    assert encoded.values[:, encoded.names.index("history missing")].tolist() == [1] * 3 + [0] * 9
    first = encoded.names.index("last outcome")
    assert np.all(encoded.values[:3, first:-1] == 0)


def test_a_gap_longer_than_any_in_training_is_reported(gaps):
    encoder = fit_encoder(logs_of(gaps), LAGS)
    later = gaps.groupby("item").tail(1).assign(date=date(2026, 1, 1))
    assert encoder.encode(today_of(later)).report["log days since the last row"] == 1


def test_units_are_matched_by_id_and_not_by_code(gaps):
    encoder = fit_encoder(logs_of(gaps), LAGS)
    day = gaps.groupby("item").tail(1).assign(date=date(2025, 1, 21))
    whole, one = (
        past_of(encoder, today_of(day)),
        past_of(encoder, today_of(day[day["item"] == "i007"])),
    )
    assert one.equals(whole[day["item"].to_numpy() == "i007"].reset_index(drop=True))


def test_ids_that_change_from_numbers_to_text_are_refused(gaps):
    numbered = gaps.assign(item=gaps["item"].str[1:].astype(int))
    encoder = fit_encoder(logs_of(numbered), LAGS)
    with pytest.raises(
        LogError,
        match="Expected ids that are whole numbers in column 'item' as in training, got text",
    ):
        encoder.encode(logs_of(gaps))


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_an_encoder_with_memory_survives_its_file_format(gaps, kind):
    ids = (
        gaps["item"].str.replace("i", "é-")
        if kind == "text"
        else gaps["item"].str[1:].astype(int) - 5
    )
    logs = logs_of(gaps.assign(item=ids))
    encoder = fit_encoder(logs, LAGS)
    table, arrays = encoder.to_parts()
    again = Encoder.from_parts(json.loads(json.dumps(table, sort_keys=True)), arrays)
    assert again == encoder
    assert again.history.memory.units.type == (pa.string() if kind == "text" else pa.int64())
    assert all(array.dtype in (np.uint8, np.int64, np.float64) for array in arrays.values())
    assert np.array_equal(again.encode(logs).values, encoder.encode(logs).values)
    assert again.remember(logs) == encoder


def test_arrays_that_do_not_belong_together_are_refused(gaps):
    table, arrays = fit_encoder(logs_of(gaps), LAGS).to_parts()
    for damaged in (
        {"times": arrays["times"][1:]},
        {"codes": arrays["codes"][::-1]},
        {"codes": arrays["codes"] + 1},
    ):
        with pytest.raises(LogError, match="got arrays that disagree"):
            Encoder.from_parts(table, arrays | damaged)


def test_a_log_of_one_day_and_an_empty_one_can_be_encoded(frame):
    logs = logs_of(on(frame, 6))
    encoder = fit_encoder(logs, LAGS)
    assert np.all(past_of(encoder, logs)["history missing"] == 1)
    second = past_of(encoder, logs_of(on(frame, 7)))
    assert np.isfinite(second).all(axis=None)
    assert not second["history missing"].any()
    nobody = encoder.encode(logs.take(np.zeros(len(logs), dtype=bool)))
    assert nobody.values.shape == (0, len(nobody.names))


def test_hours_count_as_parts_of_days(frame):
    hours = frame.assign(
        date=pd.Timestamp("2025-01-06", tz="UTC") + pd.to_timedelta(np.arange(240) % 8, unit="h")
    )
    encoder = fit_encoder(logs_of(hours), LAGS)
    assert encoder.history.days_since.centre == pytest.approx(np.log(1 / 24))


def test_lags_need_outcomes_to_learn_from(frame):
    with pytest.raises(LogError, match="Expected the outcome column 'orders'"):
        fit_encoder(today_of(frame), LAGS)
