"""The store with real models: what is loaded decides as what was committed, and only what may
come next is committed.
"""

import numpy as np
import pandas as pd
import pytest

from realloc import ReAlloc
from realloc.base.errors import StoreError
from realloc.batch import recommend_file
from realloc.decide.types import MOVED
from realloc.storage.store import Store, canary
from tests.small import CONFIG, fitted, today, updated, window
from tests.storage.store.light import NOON, snapshot


def committed(path):
    """A store with two rounds."""
    store = Store(path, clock=lambda: NOON)
    store.commit(fitted(), window())
    store.commit(updated(), window(1))
    return store


def test_what_is_loaded_decides_as_what_was_committed(tmp_path):
    store = committed(tmp_path / "store")
    pd.testing.assert_frame_equal(
        store.load().recommend(today()), updated().recommend(today()), check_exact=True
    )
    pd.testing.assert_frame_equal(
        store.load(1).recommend(today()), fitted().recommend(today()), check_exact=True
    )
    assert store.verify() == ()
    current = store.current()
    assert (current.number, current.rounds, len(current.windows), current.former) == (
        2,
        2,
        2,
        1,
    )
    assert current.fingerprint["units"] == 60
    assert current.metrics["memory_rows"] > 0


def test_the_same_rounds_give_the_same_bytes(tmp_path):
    one, other = committed(tmp_path / "one"), committed(tmp_path / "other")
    assert snapshot(one.path) == snapshot(other.path)


def test_a_window_that_was_applied_changes_nothing_in_any_order_of_rows(tmp_path):
    store = committed(tmp_path / "store")
    before = snapshot(store.path)
    rows = window(1).take(np.random.default_rng(0).permutation(len(window(1))))
    assert store.applied(rows)
    assert store.commit(store.load().update(window(1)), rows).number == 2
    assert snapshot(store.path) == before


def test_rows_that_the_model_remembers_are_refused_unless_allowed(tmp_path):
    store = committed(tmp_path / "store")
    part = window(1).take(np.arange(len(window(1))) >= 100)
    with pytest.raises(
        StoreError, match=r"\d+ of the rows that the model remembers are in this window too"
    ):
        store.check_window(part, store.load())
    model = store.load().update(part)
    with pytest.raises(StoreError, match="--allow-overlap"):
        store.commit(model, part)
    assert store.commit(model, part, allow_overlap=True).number == 3


def test_a_model_that_follows_another_version_is_refused(tmp_path):
    store = committed(tmp_path / "store")
    with pytest.raises(
        StoreError, match=r"Expected a model of round 3 after version 2, got round 2"
    ):
        store.commit(store.load(1).update(window(3)), window(3))
    with pytest.raises(StoreError, match="round 1 to start with"):
        store.commit(updated(), window(3), again=True)
    assert store.commit(ReAlloc(CONFIG).fit(window(3)), window(3), again=True).windows[
        0
    ].rows == len(window(3))


def test_a_canary_that_sings_otherwise_stops_the_load(tmp_path, monkeypatch):
    store = committed(tmp_path / "store")
    real = canary.ask

    def off_key(factor):
        def ask(model, rows):
            answers = real(model, rows)
            return answers | {"fixed_gain": answers["fixed_gain"] * factor}

        return ask

    monkeypatch.setattr(canary, "ask", off_key(1 + 1e-7))
    store.load()  # last digits may differ on another machine
    monkeypatch.setattr(canary, "ask", off_key(1.01))
    with pytest.raises(
        StoreError, match="does not decide as the one that.*`realloc rollback`"
    ):
        store.load()


def test_the_gate_puts_aside_a_model_that_reads_back_as_another(tmp_path, monkeypatch):
    store = Store(tmp_path / "store", clock=lambda: NOON)
    store.commit(fitted(), window())
    with monkeypatch.context() as patch:
        patch.setattr("realloc.storage.store.store.load", lambda folder: fitted())
        with pytest.raises(
            StoreError,
            match=r"does not decide as.*quarantine/00000002-1'; the current version stays",
        ):
            store.commit(updated(), window(1))
    assert store.current().number == 1
    assert [place.name for place in (store.path / "quarantine").iterdir()] == ["00000002-1"]
    assert store.commit(updated(), window(1)).number == 2


def test_a_rollback_gives_the_old_decisions(tmp_path):
    store = committed(tmp_path / "store")
    store.rollback()
    pd.testing.assert_frame_equal(
        store.load().recommend(today()), fitted().recommend(today()), check_exact=True
    )
    assert not store.applied(window(1))  # and what was undone may be applied again
    store.commit(store.load().update(window(1)), window(1))
    pd.testing.assert_frame_equal(
        store.load().recommend(today()), updated().recommend(today()), check_exact=True
    )


def test_a_frozen_store_keeps_every_mix_also_where_the_model_is_broken(tmp_path):
    store = committed(tmp_path / "store")
    store.freeze("prices look odd")
    for path in store.path.glob("versions/*/model/weights.safetensors"):
        path.write_bytes(b"broken")
    with pytest.raises(StoreError, match="weights.safetensors"):
        store.load()
    given = today()
    given.to_parquet(tmp_path / "today.parquet")
    recommend_file(tmp_path / "today.parquet", store.path, tmp_path / "recs.parquet")
    found = pd.read_parquet(tmp_path / "recs.parquet")
    assert set(found.reason) == {"frozen"}
    assert not found.moved.any()
    assert "frozen" not in MOVED
    for name in ("ads", "coupon", "rebate"):
        assert found[f"share_{name}"].to_numpy() == pytest.approx(
            given[name].to_numpy(), abs=1e-12
        )
