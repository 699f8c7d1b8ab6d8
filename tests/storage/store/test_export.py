"""The small copy: the same answers to the bit, nothing to learn further with, and never out of
a damaged store.
"""

import pandas as pd
import pytest
from typer.testing import CliRunner

import realloc
from realloc.base.artifact import read_artifact
from realloc.base.errors import ConfigError, StoreError
from realloc.cli.main import app
from realloc.storage.store import Store
from tests.small import fitted, today, updated, window
from tests.storage.store.light import NOON, snapshot


def committed(path):
    store = Store(path, clock=lambda: NOON)
    store.commit(fitted(), window())
    store.commit(updated(), window(1))
    return store


def test_an_exported_model_answers_to_the_bit_and_is_smaller(tmp_path):
    store = committed(tmp_path / "store")
    before = snapshot(store.path)
    for number, model in ((None, updated()), (1, fitted())):
        version = store.export(tmp_path / "small", number)
        small = realloc.load(tmp_path / "small")
        pd.testing.assert_frame_equal(
            small.recommend(today()), model.recommend(today()), check_exact=True
        )
        found = read_artifact(tmp_path / "small", "model")
        assert found.meta["origin"] == {"version": version.number, "model": version.model}
        assert not any(
            len(values)
            for name, values in found.tensors.items()
            if name.endswith("memory.x")
        )
    assert snapshot(store.path) == before
    whole = sum(
        path.stat().st_size for path in store.path.glob("versions/00000001-*/model/*")
    )
    assert sum(path.stat().st_size for path in (tmp_path / "small").iterdir()) < whole
    with pytest.raises(ConfigError, match="got an exported one, which only answers"):
        small.update(window(1))


def test_the_command_writes_what_the_library_reads(tmp_path):
    store = committed(tmp_path / "store")
    run = CliRunner().invoke(
        app, ["export", "--store", str(store.path), "--out", str(tmp_path / "small")]
    )
    assert "`realloc.load` reads it" in run.output.replace("\n", " ")
    whole = realloc.load(next(store.path.glob("versions/00000002-*/model")))
    assert (
        realloc.load(tmp_path / "small").recommend(today()).equals(whole.recommend(today()))
    )
    assert read_artifact(tmp_path / "small", "model").meta["origin"]["version"] == 2


def test_what_is_damaged_is_not_exported_and_the_store_is_no_place_for_it(tmp_path):
    store = committed(tmp_path / "store")
    with pytest.raises(StoreError, match="a place outside of the store"):
        store.export(store.path / "model")
    with pytest.raises(StoreError, match="Expected a version that is kept"):
        store.export(tmp_path / "small", 9)
    weights = next(store.path.glob("versions/00000002-*/model/weights.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x07")
    with pytest.raises(StoreError, match="weights.safetensors"):
        store.export(tmp_path / "small")
    assert not (tmp_path / "small").exists()
