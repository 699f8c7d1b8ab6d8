"""What is remembered of each unit: its last rows, matched by id, and their file format."""

import json
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from realloc import LogError
from realloc.learn.features.encode import Encoder, FeatureConfig, fit_encoder
from tests.learn.features.past import LAGS, logs_of, past_of, today_of, upto


def test_memory_gives_the_next_day_what_the_whole_log_gives(gaps):
    days = sorted(gaps["date"].unique())
    whole = logs_of(gaps)
    for lags in (1, 3, 28):
        encoder = fit_encoder(
            logs_of(gaps[gaps["date"] < days[-1]]), FeatureConfig(lags=lags)
        )
        last = whole.times == np.datetime64(days[-1])
        remembered = past_of(encoder, today_of(gaps[gaps["date"] == days[-1]]))
        assert remembered.equals(past_of(encoder, whole)[last].reset_index(drop=True))


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
    assert (
        past_of(encoder, today_of(plan))
        .iloc[1::2]
        .reset_index(drop=True)
        .equals(remembered)
    )
    update = past_of(encoder, logs_of(plan))
    assert not np.allclose(
        update["last share of ads"].iloc[1::2], remembered["last share of ads"]
    )


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
    assert again.history.memory.units.type == (
        pa.string() if kind == "text" else pa.int64()
    )
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
