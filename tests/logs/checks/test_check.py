"""The check: each risk is found in a log that has it, and a sound log is not accused."""

import numpy as np
import pytest

from realloc import LogError, check_source, read_logs
from realloc.logs import CheckConfig, check_logs
from realloc.model.round import set_apart
from tests.conftest import SPENDS, make_frame
from tests.logs.sources import codes
from tests.small import window


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
    assert {finding.code for finding in logs.check().errors} == {
        "too_few_rows",
        "too_few_units",
    }
    assert "too_few_units" in codes(frame[frame["item"] == "i000"])
    with pytest.raises(LogError, match="at least 50 rows"):
        logs.check().require()


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
        "error: Expected amounts of at least 0 in column 'ads', got -3 "
        "(1 row; the table, row 6, unit 'i000'" in text
    )


def test_what_the_check_lets_pass_is_enough_to_fit_on():
    short = check_logs(read_logs(make_frame(units=5, days=40), SPENDS))
    assert "60 rows for each unit will do" in str(short)
    assert {finding.code for finding in short.errors} == {"too_few_units"}
    long = read_logs(make_frame(units=5, days=60), SPENDS)
    assert not check_logs(long).errors
    assert len(np.unique(set_apart(long, 5, seed=1)[1])) == 5


def test_a_check_shows_its_verdict_findings_and_channels():
    check = window().check()
    shown = check._repr_markdown_()
    assert "Ready to learn from: 0 errors, 1 warning." in shown
    assert "- warning: There are only 300 rows." in shown
    assert "| rebate |" in shown
