"""A name is a suspicion; values that never change within a unit clear it."""

import pandas as pd
import pytest

from realloc.logs.reading.later import find_later
from realloc.logs.reading.source import open_source
from tests.conftest import SPENDS, make_frame
from tests.logs.sources import to_csv


def suspects(source, *listed):
    return find_later(open_source(source), SPENDS, list(listed))


@pytest.fixture
def frame():
    units = {f"i{k:03d}": k for k in range(30)}
    made = make_frame()
    made["income_idx"] = made["item"].map(units) % 7
    made["revenue"] = made["orders"] * 10
    return made


def test_only_what_is_named_so_and_changes_is_suspected(frame, tmp_path):
    for source in (frame, to_csv(frame, tmp_path / "logs.csv")):
        assert suspects(source, "income_idx", "revenue", "price") == ["revenue"]


def test_missing_values_change_nothing(frame):
    frame["income_idx"] = frame["income_idx"].astype("Float64")
    frame.loc[::5, "income_idx"] = pd.NA
    assert suspects(frame, "income_idx") == []
    frame["income_idx"] = pd.NA
    assert suspects(frame.astype({"income_idx": "Float64"}), "income_idx") == ["income_idx"]


def test_one_row_per_unit_clears_nothing(frame):
    assert suspects(frame.groupby("item").head(1), "income_idx") == ["income_idx"]


def test_a_single_change_is_enough_even_in_a_later_file(frame, tmp_path):
    first = to_csv(frame, tmp_path / "a.csv")
    frame.loc[17, "income_idx"] += 1
    second = to_csv(frame.iloc[16:], tmp_path / "b.csv")
    assert suspects([first, second], "income_idx") == ["income_idx"]


def test_columns_of_odd_types_stay_suspected(frame):
    frame["clicks"] = [[1, 2]] * len(frame)
    assert suspects(frame, "clicks", "income_idx") == ["clicks"]
    frame["item"] = [[item] for item in frame["item"]]
    assert suspects(frame, "income_idx") == ["income_idx"]
