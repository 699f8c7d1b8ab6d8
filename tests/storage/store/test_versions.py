"""Versions on disk: a chain of digests, read and hashed once."""

import pytest

from realloc.base.errors import StoreError
from realloc.storage.store.versions import check_model, read_version
from tests.storage.store.light import grown


def test_versions_follow_each_other_by_digest(tmp_path):
    store = grown(tmp_path / "store", 3, keep=10)
    one, two, three = store.history()
    assert [v.parent for v in (one, two, three)] == [None, 1, 2]
    names = sorted(place.name for place in (store.path / "versions").iterdir())
    assert names[1] == f"00000002-{three.parent_digest[:8]}"
    assert store.number() == 3


def test_a_version_is_read_with_the_digest_that_head_and_its_folder_name(tmp_path):
    store = grown(tmp_path / "store", 1)
    kept = store._read_current()
    assert kept.folder.name == f"00000001-{kept.digest[:8]}"
    assert check_model(kept).digest == kept.version.model
    assert check_model(kept).tensors["w"].tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(StoreError, match="Expected the digest that HEAD"):
        read_version(kept.folder, "0" * 64)
