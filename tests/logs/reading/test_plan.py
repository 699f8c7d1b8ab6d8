"""Which columns are read, as what, and what is said about the rest."""

import pyarrow as pa
import pytest

from realloc import LogError, Schema, read_logs
from tests.conftest import SPENDS
from tests.logs.sources import to_csv


def test_csv_columns_with_leading_zeros_or_words_are_categories(frame, tmp_path):
    frame = frame.assign(shop=["007", "12"] * 120, flag=["true", "false"] * 120)
    logs = read_logs(to_csv(frame, tmp_path / "logs.csv"), SPENDS)
    assert pa.types.is_dictionary(logs.table["shop"].type)
    assert pa.types.is_boolean(logs.table["flag"].type)
    assert "undeclared_types" in [note.code for note in logs.notes]


def test_declared_csv_types_are_not_guessed(frame, tmp_path):
    path = to_csv(frame.assign(shop=["7", "12"] * 120), tmp_path / "logs.csv")
    declared = Schema(
        **{**SPENDS.__dict__, "features": ("price", "shop"), "categorical": ("shop",)}
    )
    logs = read_logs(path, declared)
    assert pa.types.is_dictionary(logs.table["shop"].type)
    assert "undeclared_types" not in [note.code for note in logs.notes]
    with pytest.raises(
        LogError, match="Expected numbers in column 'category', got 'books'|'toys'|'food'"
    ):
        read_logs(
            path,
            Schema(**{**SPENDS.__dict__, "features": ("category",), "categorical": ()}),
        )


def test_a_missing_column_suggests_the_nearest(frame):
    with pytest.raises(
        LogError,
        match=r"Expected a column 'order' \(`outcome` of the schema\).* Did you mean 'orders'\?",
    ):
        read_logs(frame, Schema(**{**SPENDS.__dict__, "outcome": "order"}))
