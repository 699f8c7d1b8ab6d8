"""Going back: a new version with an old model, and a pointer that was lost."""

import pytest

from realloc.base.errors import StoreError
from tests.storage.store.light import grown, snapshot


def test_a_rollback_is_a_new_version_with_the_old_model(tmp_path):
    store = grown(tmp_path / "store", 3, keep=10)
    files = snapshot(store.path)
    back = store.rollback()
    assert (back.number, back.restores, back.parent, back.rounds) == (4, 2, 3, 2)
    found = snapshot(store.path)
    assert files.keys() - {"HEAD"} < found.keys()
    of = {
        n: next(
            name
            for name in found
            if name.startswith(f"versions/{n:08d}") and "model/w" in name
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
    with pytest.raises(
        StoreError, match=r"Expected no version after 2.*`realloc rollback --to 4`"
    ):
        store.step()
    assert store.rollback(to=4).number == 5
    assert store.number() == 5
