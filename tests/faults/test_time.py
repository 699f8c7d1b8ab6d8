"""Clocks that go back, windows from the future, windows without rows: refused, naming what to
check.
"""

from datetime import timedelta

import numpy as np
import pyarrow.parquet as pq
import pytest

from realloc.base.errors import StoreError
from realloc.storage.store import Store
from tests.faults.commands import run
from tests.small import fitted, updated, window
from tests.storage.store.light import NOON, snapshot


def store_at(path, days):
    return Store(path, clock=lambda: NOON + timedelta(days=days))


def test_a_clock_that_goes_back_is_told_or_does_not_matter(tmp_path):
    store_at(tmp_path / "store", 0).commit(fitted(), window())
    before = snapshot(tmp_path / "store")
    with pytest.raises(StoreError, match="the clock of this machine"):
        store_at(tmp_path / "store", -20 * 365).commit(updated(), window(1))
    assert snapshot(tmp_path / "store") == before
    later = store_at(tmp_path / "store", -1).commit(updated(), window(1))
    assert (later.number, later.created) == (2, NOON.isoformat())


def test_a_window_from_the_future_and_one_without_rows_change_nothing(tmp_path):
    with pytest.raises(StoreError, match="the clock of this machine"):
        store_at(tmp_path / "none", -20 * 365).commit(fitted(), window())
    store = store_at(tmp_path / "store", 0)
    assert store_at(tmp_path / "none", 0).empty
    store.commit(fitted(), window())
    before = snapshot(store.path)
    none = window(1).take(np.zeros(len(window(1)), dtype=bool))
    for use in (
        store.applied,
        lambda rows: store.check_window(rows, fitted()),
        lambda rows: store.commit(updated(), rows),
    ):
        with pytest.raises(StoreError, match="Expected a window with rows"):
            use(none)
    pq.write_table(window(1).to_arrow().slice(0, 0), tmp_path / "none.parquet")
    ended = run(
        ["update", str(tmp_path / "none.parquet"), "--store", str(store.path), "--quiet"]
    )
    assert ended.code == 2
    assert "Traceback" not in ended.said
    assert snapshot(store.path) == before
