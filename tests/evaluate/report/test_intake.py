"""The log is read with the columns of [report], and even if its propensities are wrong."""

from dataclasses import replace

import numpy as np
import pytest

from realloc import LogError, read_logs
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.intake import take_logs
from realloc.logs import CheckConfig
from tests.evaluate.report.simulated import SCHEMA, later

CHECK = CheckConfig()


def test_named_columns_are_read_but_are_no_features():
    taken = take_logs(later(), SCHEMA, ReportConfig(randomized="explored"), CHECK)
    assert "explored" in taken.logs.table.column_names
    assert taken.logs.features == ("price", "category")
    assert not taken.spoiled


def test_wrong_propensities_are_left_out_and_said_to_be_wrong():
    frame = later()
    wrong = frame.assign(chance=np.where(frame["chance"].notna(), 0.0, np.nan))
    taken = take_logs(wrong, SCHEMA, ReportConfig(), CHECK)
    assert taken.logs.propensity is None
    assert "Expected a propensity above 0" in taken.spoiled


def test_other_errors_are_refused():
    with pytest.raises(LogError, match="'orders'"):
        take_logs(later().drop(columns="orders"), SCHEMA, ReportConfig(), CHECK)
    without = replace(SCHEMA, propensity=None)
    with pytest.raises(LogError, match="'orders'"):
        take_logs(later().drop(columns="orders"), without, ReportConfig(), CHECK)


def test_logs_are_taken_as_they_are():
    logs = read_logs(later(), SCHEMA)
    taken = take_logs(logs, SCHEMA, ReportConfig(), CHECK)
    assert taken.logs is logs
    assert taken.check.errors == ()
