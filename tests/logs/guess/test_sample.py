"""Kinds of columns, by most of their values."""

import pandas as pd

from realloc.logs.guess.sample import first_rows, take_sample
from realloc.logs.reading.options import ReadOptions
from realloc.logs.reading.source import open_source


def sample(tmp_path, read=None, **columns):
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    source = open_source(tmp_path / "a.csv")
    return take_sample(source, first_rows(source), read or ReadOptions())


def test_columns_are_sorted_by_kind(tmp_path):
    found = sample(
        tmp_path,
        iso=["2026-01-31"] * 20,
        german=["31.01.2026"] * 20,
        money=["1.5"] * 19 + ["oops"],
        zip=["007"] * 20,
        whole=["5"] * 20,
    )
    assert set(found.times) == {"iso", "german"}
    assert found.forms["german"].one == "DD.MM.YYYY"
    assert set(found.numbers) == {"money", "whole"}
    assert found.wholes == ["whole"]
    assert found.texts == ["zip"]


def test_numbers_are_read_as_they_are_written(tmp_path):
    read = ReadOptions(decimal=",", thousands=".")
    found = sample(tmp_path, read, money=["1.234,5"] * 3)
    assert found.amounts["money"].tolist() == [1234.5] * 3
