"""What the store promises about versions, shown on rounds that cost nothing."""

from datetime import timedelta

import pytest

from realloc.base.errors import StoreError
from realloc.storage.store import Store
from tests.faults.recording import recorded
from tests.storage.store.light import NOON, LightStore, grown, snapshot


def test_a_store_that_is_not_there_is_empty_and_says_how_to_make_one(tmp_path):
    store = Store(tmp_path / "none")
    assert store.empty
    assert store.current() is None
    assert store.history() == ()
    with pytest.raises(StoreError, match="`realloc fit` makes one"):
        store.load()
    assert not (tmp_path / "none").exists()  # looking changes nothing


def test_versions_follow_each_other_by_digest(tmp_path):
    store = grown(tmp_path / "store", 3, keep=10)
    one, two, three = store.history()
    assert [v.parent for v in (one, two, three)] == [None, 1, 2]
    names = sorted(place.name for place in (store.path / "versions").iterdir())
    assert names[1] == f"00000002-{three.parent_digest[:8]}"
    assert store.number() == 3


def test_the_same_window_twice_changes_nothing(tmp_path):
    store = grown(tmp_path / "store", 2)
    before = snapshot(store.path)
    with recorded() as operations:
        assert store.step(window=1).number == 2
    assert operations == []
    assert snapshot(store.path) == before


def test_old_versions_go_but_never_the_current_one_or_its_parent(tmp_path):
    store = grown(tmp_path / "store", 7, keep=3)
    assert [version.number for version in store.history()] == [5, 6, 7]
    assert len(store.current().windows) == 7  # what was learned from is known for ever
    with pytest.raises(StoreError, match="at least 2 versions"):
        Store(tmp_path, keep=1)


def test_a_rollback_is_a_new_version_with_the_old_model(tmp_path):
    store = grown(tmp_path / "store", 3, keep=10)
    files = snapshot(store.path)
    back = store.rollback()
    assert (back.number, back.restores, back.parent, back.rounds) == (4, 2, 3, 2)
    found = snapshot(store.path)
    assert files.keys() - {"HEAD"} < found.keys()
    of = {
        n: next(
            name for name in found if name.startswith(f"versions/{n:08d}") and "model/w" in name
        )
        for n in (2, 4)
    }
    assert found[of[2]] == found[of[4]]
    assert store.rollback().restores == 1  # and further back, not to what was left
    with pytest.raises(StoreError, match="the current one is the first"):
        store.rollback()
    assert store.rollback(to=3).rounds == 3
    with pytest.raises(
        StoreError, match=r"Expected a version that is kept \(1, 2, 3, 4, 5, 6\), got 9"
    ):
        store.rollback(to=9)


def test_a_pointer_that_was_put_back_is_told_instead_of_losing_versions(tmp_path):
    store = grown(tmp_path / "store", 2, keep=10)
    old = (store.path / "HEAD").read_bytes()
    store.step()
    store.step()
    (store.path / "HEAD").write_bytes(old)
    with pytest.raises(StoreError, match=r"Expected no version after 2.*`realloc rollback --to 4`"):
        store.step()
    assert store.rollback(to=4).number == 5
    assert store.number() == 5


def test_a_candidate_that_fails_its_gate_is_put_aside_and_the_old_version_stays(tmp_path):
    class Strict(LightStore):
        def _gate(self, folder, version, expected):
            raise StoreError("The canary died.")

    store = grown(tmp_path / "store", 1)
    for n in (1, 2):
        with pytest.raises(
            StoreError,
            match=rf"The canary died.*quarantine/00000002-{n}'; the current version stays",
        ):
            Strict(store.path).step()
    assert store.number() == 1
    assert store.step().number == 2


def test_times_never_run_against_the_numbers(tmp_path):
    grown(tmp_path / "store", 1)
    back = LightStore(tmp_path / "store", clock=lambda: NOON - timedelta(days=3))
    back.step()
    created = [version.created for version in (*back.history(), back.rollback())]
    assert created == sorted(created)


def test_freezing_needs_no_lock_and_no_model_and_outlives_everything(tmp_path):
    store = grown(tmp_path / "store", 1)
    assert store.frozen is None
    with store.writer():
        Store(store.path).freeze("prices\nlook odd")
    assert str(store.frozen).endswith("prices look odd")
    store.freeze("again")
    assert "prices" in store.frozen  # the first reason stays
    (store.path / "HEAD").write_bytes(b"broken")
    assert Store(store.path).frozen
    assert store.unfreeze()
    assert store.frozen is None
    assert not store.unfreeze()
    (store.path / "FROZEN").touch()
    assert store.frozen == "no reason was given"
    with pytest.raises(StoreError, match="there is no folder"):
        Store(tmp_path / "none").freeze("x")
