"""Rows that repeat a unit and time are found among all rows, in whatever file they stand."""

from datetime import date

import pandas as pd

from realloc.batch import keys
from realloc.batch.keys import scan_keys
from realloc.logs.reading.source import open_source
from tests.conftest import SPENDS

UNITS = ["a", "b", "a", "c", None, None, "b"]
DAYS = [date(2026, 1, day) for day in (1, 1, 2, 1, 1, 1, 1)]


def scan(tmp_path, units, days):
    half = len(units) // 2
    for number, part in enumerate((slice(None, half), slice(half, None))):
        frame = pd.DataFrame({"item": units[part], "date": days[part]})
        frame.to_parquet(tmp_path / f"part{number}.parquet")
    return scan_keys(open_source(str(tmp_path)), SPENDS)


def test_both_rows_of_a_repeated_key_are_named_also_in_two_files(tmp_path):
    found = scan(tmp_path, UNITS, DAYS)
    assert found.rows == 7
    assert found.repeated.tolist() == [
        1,
        6,
    ]  # rows without a unit are bad for another reason
    assert found.units_repeat


def test_units_that_stand_once_do_not_repeat(tmp_path):
    found = scan(tmp_path, ["a", "b", "c"], DAYS[:3])
    assert found.repeated.tolist() == []
    assert not found.units_repeat


def test_equal_hashes_of_different_keys_are_no_duplicates(tmp_path, monkeypatch):
    monkeypatch.setattr(
        keys, "_hash", lambda unit: keys.np.zeros(len(unit), keys.np.uint64)
    )
    assert scan(tmp_path, ["a", "b", "c", "b"], [DAYS[0]] * 4).repeated.tolist() == [1, 3]


def test_chunks_of_long_rows_begin_where_the_key_changes(tmp_path):
    units = ["a", "a", "b", "b", "b", None, None, "c"]
    frame = pd.DataFrame({"item": units, "date": [DAYS[0]] * 8})
    frame.to_parquet(tmp_path / "long.parquet")
    found = scan_keys(open_source(str(tmp_path)), SPENDS, long=True)
    assert found.runs.tolist() == [0, 2, 5, 7]
    assert not found.scattered
    assert not found.units_repeat
    assert found.repeated.tolist() == []
    assert found.chunk_starts(2) == [0, 2, 5]
    assert found.chunk_starts(4) == [0, 2]
    assert found.chunk_starts(8) == [0]


def test_scattered_long_rows_are_one_chunk(tmp_path):
    frame = pd.DataFrame({"item": ["a", "b", "a", "b"], "date": [DAYS[0]] * 4})
    frame.to_parquet(tmp_path / "long.parquet")
    found = scan_keys(open_source(str(tmp_path)), SPENDS, long=True)
    assert found.scattered
    assert found.chunk_starts(1) == [0]
