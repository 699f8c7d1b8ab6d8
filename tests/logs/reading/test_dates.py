"""Dates that are not ISO: read in a form; asked for where several fit; never mixed with others."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from realloc import LogError, ReadOptions, guess_schema, read_logs
from realloc.logs.guess import Hints
from realloc.logs.reading.dates import FORMS, NO_TIME, find_forms, read_dates
from tests.conftest import SPENDS, make_frame

STRFTIME = {"YYYY": "%Y", "YY": "%y", "MMM": "%b", "MM": "%m", "DD": "%d"}


def strftime(form):
    for part, code in STRFTIME.items():
        form = form.replace(part, code) if code not in form else form
    return form


@pytest.mark.parametrize("form", FORMS)
def test_every_form_reads_what_pandas_writes(form):
    days = pd.date_range("2023-12-01", periods=500)
    read = read_dates(pa.array(days.strftime(strftime(form)).tolist()), form)
    assert np.array_equal(read, days.to_numpy().astype("datetime64[us]").astype(np.int64))
    assert form in find_forms(pa.array(days.strftime(strftime(form)).tolist())).forms


@pytest.mark.parametrize(
    ("form", "text", "day"),
    [
        ("DD.MM.YYYY", "1.2.2026 08:30", "2026-02-01T08:30"),
        ("MM/DD/YYYY", "2/1/2026 12:05 AM", "2026-02-01T00:05"),
        ("MMM DD, YYYY", "August 1, 2026", "2026-08-01T00:00"),
        ("DD. MMM YYYY", "1. März 2026", "2026-03-01T00:00"),
        ("DD.MM.YYYY", "29.02.2025", None),
        ("DD.MM.YYYY", "31.04.2026", None),
        ("DD.MM.YYYY", "01/02/2026", None),
        ("DD.MM.YYYY", "01.02.2026 25:00", None),
    ],
)
def test_single_dates(form, text, day):
    read = read_dates(pa.array([text]), form)[0]
    assert read == (NO_TIME if day is None else np.datetime64(day, "us").astype(np.int64))


def dated(form, periods=8, first="2025-01-06"):
    frame = make_frame(days=periods)
    days = pd.to_datetime(frame["date"]) + (
        pd.Timestamp(first) - pd.Timestamp("2025-01-06")
    )
    return frame.assign(date=days.dt.strftime(form))


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%d.%m.%Y", "%b %d, %Y", "%m/%d/%Y"])
def test_dates_that_fit_one_form_are_read_and_said(form):
    logs = read_logs(dated(form, first="2025-01-10"), SPENDS)
    plain = read_logs(dated("%Y-%m-%d", first="2025-01-10"), SPENDS)
    assert np.array_equal(logs.times, plain.times)
    note = next(note for note in logs.notes if note.code == "date_form")
    assert logs.schema.read.date_format in note.what
    # What reading found is kept, so that a later day that would fit two forms is read alike.
    day = dated(form, periods=1, first="2025-02-03")
    later = read_logs(day, logs.pinned_schema)
    assert set(later.times.astype(str)) == {"2025-02-03"}


def test_dates_that_fit_two_forms_are_asked_for_and_the_advice_helps():
    frame = dated("%d/%m/%Y", periods=5)
    with pytest.raises(LogError) as asked:
        read_logs(frame, SPENDS)
    said = str(asked.value)
    assert "'date'" in said
    assert "'06/01/2025'" in said
    assert "DD/MM/YYYY and MM/DD/YYYY" in said
    assert 'read=realloc.ReadOptions(date_format="DD/MM/YYYY")' in said
    logs = read_logs(frame, SPENDS, read=ReadOptions(date_format="DD/MM/YYYY"))
    assert str(logs.times[0]) == "2025-01-06"


def test_another_form_among_iso_dates_is_a_mistake():
    frame = dated("%Y-%m-%d")
    frame.loc[3, "date"] = "26-01-05"
    with pytest.raises(LogError, match="got '26-01-05'"):
        read_logs(frame, SPENDS)


def test_two_forms_in_one_column_are_refused():
    frame = dated("%d/%m/%Y", first="2025-01-13")
    frame.loc[0, "date"] = "01/13/2025"
    with pytest.raises(LogError, match="dates of one form in column 'date'"):
        read_logs(frame, SPENDS)


def test_a_wrong_date_among_others_is_quoted():
    frame = dated("%d/%m/%Y", first="2025-01-13")
    frame.loc[0, "date"] = "soon"
    with pytest.raises(LogError, match="in column 'date', got 'soon'"):
        read_logs(frame, SPENDS)


def test_whole_numbers_are_dates_where_a_form_says_so(tmp_path):
    plain = read_logs(dated("%Y-%m-%d"), SPENDS)
    frame = dated("%Y%m%d").astype({"date": int})
    frame.to_csv(tmp_path / "a.csv", index=False)
    read = ReadOptions(date_format="YYYYMMDD")
    with pytest.raises(LogError, match='put date_format = "YYYYMMDD" into'):
        read_logs(frame, SPENDS)
    for source in (frame, tmp_path / "a.csv"):
        assert np.array_equal(read_logs(source, SPENDS, read=read).times, plain.times)
    with pytest.raises(LogError, match="--time day --date-format YYYYMMDD"):
        guess_schema(tmp_path / "a.csv")
    known = Hints(time="date", date_format="YYYYMMDD")
    assert guess_schema(tmp_path / "a.csv", known).time == "date"
    assert read_logs(frame, guess_schema(frame, known)).times[0] == plain.times[0]
