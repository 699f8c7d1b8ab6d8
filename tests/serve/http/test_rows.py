"""Rows are read as the model's own were: no flag, text or date in the place of a number."""

from dataclasses import replace

import pytest

import realloc
from realloc import ReAlloc, Schema
from realloc.serve.http.http_error import HttpError
from realloc.serve.http.rows import RequestColumns
from realloc.storage.store import Store
from tests.serve.http.asking import ask, open_app, some_rows
from tests.small import CONFIG, window


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """A service whose model has a feature of every type."""
    frame = window().to_pandas()
    frame["member"] = frame.c1 > 0
    frame["since"] = frame.date
    logs = realloc.read_logs(frame, replace(window().schema, features=None))
    store = Store(tmp_path_factory.mktemp("typed") / "store")
    store.commit(ReAlloc(CONFIG, quiet=True).fit(logs), logs)
    return open_app(store.path)


def status(app, **changed):
    row = some_rows(1)[0] | {"member": True, "since": "2025-01-01"} | changed
    return ask(app, "/v1/recommend", {"rows": [row]}).status


def test_each_type_is_taken_as_it_was_learned(app):
    assert status(app) == 200
    assert status(app, member=None, since=None, c1=None) == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("c1", True),
        ("c1", "0.5"),
        ("c1", "2025-01-01"),
        ("member", 1),
        ("member", "true"),
        ("since", 5),
        ("since", True),
    ],
)
def test_and_as_nothing_else(app, name, value):
    assert status(app, **{name: value}) == 422


COLUMNS = RequestColumns(
    Schema(
        unit="u",
        time="t",
        outcome="y",
        channels=["a", "b"],
        features=["f"],
        categorical=["f"],
    ),
    {"f": "text"},
)
ROW = {"u": "x", "t": "2026-01-01", "a": 1, "b": 2, "f": "red"}


def test_features_of_text_are_text_or_null_and_short():
    assert COLUMNS.table([ROW, ROW | {"f": None}])["f"].to_pylist() == ["red", None]
    for wrong in (3, True, [], "x" * 500, "a\nb"):
        with pytest.raises(HttpError, match="'f'"):
            COLUMNS.table([ROW, ROW | {"f": wrong}])


def test_minus_zero_is_zero():
    assert str(COLUMNS.table([ROW | {"a": -0.0}])["a"][0].as_py()) == "0.0"
    assert str(COLUMNS.shares({"a": -0.0, "b": 1}, 1)[0, 0]) == "0.0"


SENTENCES = {
    "u": [({}, "Expected ids that are all text or all integers in 'u' of row 1")],
    "t": [
        ([], "Expected a date such as 2026-11-16 .* in 't' of row 1"),
        ("2026-02-30", "Expected a date that exists in 't' of row 1"),
    ],
    "a": [
        ("1", "Expected a number in 'a' of row 1"),
        (1e31, "Expected a number up to 1e.30 in 'a' of row 1"),
    ],
    "f": [("x" * 257, "'f' in row 1 is longer than 256 characters")],
}


@pytest.mark.parametrize(("name", "cases"), SENTENCES.items())
def test_errors_name_the_row_and_the_key(name, cases):
    for value, sentence in cases:
        with pytest.raises(HttpError, match=sentence):
            COLUMNS.table([ROW, ROW | {name: value}])


def test_ids_may_be_integers():
    assert COLUMNS.table([ROW | {"u": 7}])["u"].to_pylist() == [7]
