"""Rows are read as the model's own were: no flag, text or date in the place of a number."""

from dataclasses import replace

import pytest

import realloc
from realloc import ReAlloc
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
