"""Lags: rows see the past of their unit, and nothing else."""

from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest

from realloc import LogError
from realloc.learn.features.encode import fit_encoder
from tests.conftest import make_frame
from tests.learn.features.past import LAGS, logs_of, on, past_of, today_of, upto


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
            *(
                scaled(p, scale)
                for p, scale in zip(logs.shares[last], lags.shares, strict=True)
            ),
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


@pytest.mark.parametrize(
    ("column", "known"), [("orders", []), ("ads", ["log budget change"])]
)
def test_a_planted_leak_is_not_seen_and_the_past_is(gaps, column, known):
    """`known`: what may change in the row itself, as its budget is known before the split."""
    encoder = fit_encoder(logs_of(gaps), LAGS)
    before = past_of(encoder, logs_of(gaps))
    for row in range(0, len(gaps), 7):
        changed = gaps.copy()
        changed.loc[row, column] = 77_777.0
        moved = before != past_of(encoder, logs_of(changed))
        later = (gaps["item"] == gaps["item"][row]) & (gaps["date"] > gaps["date"][row])
        assert not moved.drop(columns=known)[~later].any(axis=None)
        assert not moved[~later].drop(index=row).any(axis=None)
        assert (
            moved[later].head(1).any(axis=1).all()
        )  # the control: the next row does see it


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


def test_earlier_rows_without_outcomes_give_shares_and_days_but_no_outcome(gaps):
    encoder = fit_encoder(logs_of(gaps), LAGS)
    last = gaps.groupby("item").tail(1)
    two_days = pd.concat(
        [last.assign(date=date(2025, 2, 1)), last.assign(date=date(2025, 2, 2), ads=5.0)]
    )
    past = past_of(encoder, today_of(two_days))
    first, second = (
        past.iloc[::2].reset_index(drop=True),
        past.iloc[1::2].reset_index(drop=True),
    )
    outcomes = ["last outcome", "mean of the last 3 outcomes"]
    assert first[outcomes].equals(second[outcomes])
    assert np.all(
        second["log days since the last row"] < first["log days since the last row"]
    )


def test_unseen_units_have_no_history_and_are_counted(gaps):
    encoder = fit_encoder(logs_of(gaps[gaps["item"] > "i002"]), LAGS)
    day = on(make_frame(units=12, days=14), 19).assign(date=date(2025, 1, 20))
    encoded = encoder.encode(today_of(day))
    assert encoded.report["history"] == pytest.approx(3 / 12)
    assert (
        encoded.values[:, encoded.names.index("history missing")].tolist()
        == [1] * 3 + [0] * 9
    )
    first = encoded.names.index("last outcome")
    assert np.all(encoded.values[:3, first:-1] == 0)


def test_a_gap_longer_than_any_in_training_is_reported(gaps):
    encoder = fit_encoder(logs_of(gaps), LAGS)
    later = gaps.groupby("item").tail(1).assign(date=date(2026, 1, 1))
    assert encoder.encode(today_of(later)).report["log days since the last row"] == 1


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
        date=pd.Timestamp("2025-01-06", tz="UTC")
        + pd.to_timedelta(np.arange(240) % 8, unit="h")
    )
    encoder = fit_encoder(logs_of(hours), LAGS)
    assert encoder.history.days_since.centre == pytest.approx(np.log(1 / 24))


def test_lags_need_outcomes_to_learn_from(frame):
    with pytest.raises(LogError, match="Expected the outcome column 'orders'"):
        fit_encoder(today_of(frame), LAGS)
