"""A window in a few numbers: small, plain, and the same after the way through JSON."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from realloc import read_logs
from realloc.logs.summary import LEVELS, WindowSummary, summary
from tests.conftest import SPENDS, make_frame


def test_a_summary_is_small_plain_and_says_where_values_lie():
    found = summary(read_logs(make_frame(), SPENDS))
    text = json.dumps(found.to_json())
    assert len(text) < 5000
    assert WindowSummary.from_json(json.loads(text)) == found
    assert list(found.columns) == [
        "budget",
        "feature price",
        "feature category",
        "feature promoted",
        "share ads",
        "share coupon",
        "share rebate",
    ]
    assert [column.type for column in found.columns.values()][1:4] == [
        "number",
        "text",
        "flag",
    ]
    for column in found.columns.values():
        assert len(column.parts) == column.bins
        assert sum(column.parts) == pytest.approx(1)


def test_a_window_of_one_day_has_nothing_usual_and_says_so():
    frame = make_frame()
    day = summary(read_logs(frame[frame["date"] == frame["date"].min()], SPENDS))
    assert day.periods == 1
    assert day.columns["feature price"].usual is None
    assert summary(read_logs(frame, SPENDS)).columns["feature price"].usual is not None


def test_numbers_are_cut_at_deciles_and_missing_ones_have_a_bin_of_their_own():
    frame = make_frame().assign(price=np.arange(240.0))
    frame.loc[::10, "price"] = np.nan
    column = summary(read_logs(frame, SPENDS)).columns["feature price"]
    assert len(column.edges) == 9
    assert column.parts[-1] == pytest.approx(0.1)
    assert column.parts[:-1] == pytest.approx([0.09] * 10, abs=0.005)
    values = pa.chunked_array([pa.array([-1.0, 1e6, None], pa.float32())])
    assert column.place(values).tolist() == [0, 9, 10]


def test_rare_and_unknown_levels_share_a_bin():
    names = [f"c{i % 24:02d}" for i in range(240)]
    frame = make_frame().assign(category=names)
    column = summary(read_logs(frame, SPENDS)).columns["feature category"]
    assert column.levels == [f"c{i:02d}" for i in range(LEVELS)]
    values = pa.chunked_array([pa.array(["c00", "c23", "new", None]).dictionary_encode()])
    assert column.count(values).tolist() == [1, *[0] * (LEVELS - 1), 2, 1]


def test_dates_count_in_days():
    frame = make_frame()
    frame["launched"] = pd.to_datetime("2024-05-01") + pd.to_timedelta(np.arange(240), "D")
    column = summary(read_logs(frame, SPENDS)).columns["feature launched"]
    assert column.type == "date"
    assert column.edges[1] - column.edges[0] == pytest.approx(24)
