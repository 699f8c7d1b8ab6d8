"""How a version becomes current, or is put aside, and when old ones go."""

import pytest

from realloc.base.errors import StoreError
from realloc.storage.store import Store
from tests.faults.recording import recorded
from tests.storage.store.light import LightStore, grown, snapshot


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


def test_a_candidate_that_fails_its_gate_is_put_aside_and_the_old_version_stays(tmp_path):
    class Strict(LightStore):
        def _gate(self, folder, expected):
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
