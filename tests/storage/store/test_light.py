"""What the store promises about versions, shown on rounds that cost nothing."""

import pytest

from realloc.base.errors import StoreError
from realloc.storage.store import Store
from tests.storage.store.light import grown


def test_a_store_that_is_not_there_is_empty_and_says_how_to_make_one(tmp_path):
    store = Store(tmp_path / "none")
    assert store.empty
    assert store.current() is None
    assert store.history() == ()
    with pytest.raises(StoreError, match="`realloc fit` makes one"):
        store.load()
    assert not (tmp_path / "none").exists()  # looking changes nothing


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
