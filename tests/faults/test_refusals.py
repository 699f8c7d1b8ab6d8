"""What a store refuses, one small check each, on stores that cost nothing where that is enough.

Each check takes a folder, so that tests/faults/test_controls.py can ask it again with a guard off.
"""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from realloc.base import disk
from realloc.base.errors import ReallocError
from realloc.storage.store import commit, head, place, versions
from realloc.storage.store.store import Store
from tests.faults.hostile import CASES, WRITING, Opened
from tests.small import fitted, updated, window
from tests.storage.store.light import NOON, LightStore, grown, snapshot

WINDOW = {
    "first": "2026-01-01",
    "last": "2026-01-02",
    "rows": 1,
    "digest": "w",
    "hole_seconds": 1,
}


def refused(call, match: str) -> None:
    with pytest.raises(ReallocError, match=match):
        call()


def test_a_second_writer(tmp_path):
    with LightStore(tmp_path / "store").writer():
        refused(LightStore(tmp_path / "store").step, "another process is writing")


@pytest.mark.parametrize(
    ("name", "match"),
    [("LOCK is a link to nothing", "symbolic links"), ("tmp is a link", "it is a link")],
)
def test_a_writer_among_links(tmp_path, name, match):
    grown(tmp_path / "store", 1)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (CASES | WRITING)[name](Opened(tmp_path / "store", tmp_path / "outside"))
    refused(LightStore(tmp_path / "store").step, match)
    assert os.listdir(tmp_path / "outside") == ["secret"]


@pytest.mark.parametrize(
    "meta",
    [
        {"rounds": "x"},
        {"windows": [WINDOW | {"rows": "x"}]},
        {"windows": [WINDOW | {"first": "2026-01-02", "last": "2026-01-01"}]},
        {"created": "[/red]"},
        {"money_digits": 10**9},
    ],
    ids=["type", "type of a window", "order of times", "time", "digits"],
)
def test_a_record_with_wrong_values_whose_digests_all_match(tmp_path, meta):
    grown(tmp_path / "store", 2)
    Opened(tmp_path / "store", tmp_path).seal("record", meta=meta)
    refused(LightStore(tmp_path / "store").number, next(iter(meta)))


def test_a_folder_that_is_no_version(tmp_path):
    grown(tmp_path / "store", 1)
    (tmp_path / "store" / "versions" / "mine").mkdir()
    refused(LightStore(tmp_path / "store").current, "'mine' is not one")


def test_two_folders_of_one_number(tmp_path):
    store = grown(tmp_path / "store", 1)
    folder = versions.list_versions(store.path)[1]
    shutil.copytree(folder, folder.with_name("00000001-ffffffff"))
    refused(store.current, "repeats a number")


@pytest.mark.parametrize("name", ["versions", "version"])
def test_a_link_in_place_of_versions(tmp_path, name):
    store = grown(tmp_path / "store", 1)
    folder = versions.list_versions(store.path)[1]
    target = folder if name == "version" else folder.parent
    target.rename(tmp_path / "moved")
    target.symlink_to(tmp_path / "moved")
    refused(store.current, "a link")


def put_version_of_another_store(tmp_path: Path, number: int, own_name: bool) -> LightStore:
    """Replace a version of ours with a whole one of another store, under its name or ours."""
    ours = grown(tmp_path / "ours", 2)
    theirs = LightStore(tmp_path / "theirs")
    theirs.step(window=8)
    theirs.step(window=9)
    old = versions.list_versions(ours.path)[number]
    new = versions.list_versions(theirs.path)[number]
    shutil.rmtree(old)
    shutil.copytree(new, old if own_name else old.with_name(new.name))
    return ours


def test_the_current_version_of_another_store(tmp_path):
    refused(put_version_of_another_store(tmp_path, 2, own_name=False).current, "digest")


def test_an_old_version_of_another_store(tmp_path):
    refused(put_version_of_another_store(tmp_path, 1, own_name=False).number, "digest")


def test_a_rollback_to_a_version_of_another_store_under_our_name(tmp_path):
    store = put_version_of_another_store(tmp_path, 1, own_name=True)
    refused(lambda: store.rollback(to=1), "digest")


def test_a_version_under_another_number(tmp_path):
    store = grown(tmp_path / "store", 1)
    folder = versions.list_versions(store.path)[1]
    folder.rename(folder.with_name(f"00000005-{folder.name[9:]}"))
    (store.path / "HEAD").write_bytes(
        head.Head(5, head.read_head(store.path).digest).line()
    )
    refused(store.current, "Expected version 5 .* got 1")


def test_a_stranger_in_a_version(tmp_path):
    store = grown(tmp_path / "store", 1)
    (versions.list_versions(store.path)[1] / "x.pkl").touch()
    refused(store.number, "x.pkl")


def test_the_model_of_another_version(tmp_path):
    store = grown(tmp_path / "store", 2)
    first, second = versions.list_versions(store.path).values()
    shutil.rmtree(second / "model")
    shutil.copytree(first / "model", second / "model")
    refused(store.number, "Expected the digest of the record")


def test_a_flipped_bit_in_the_weights(tmp_path):
    store = grown(tmp_path / "store", 1)
    path = next(store.path.glob("versions/*/model/weights.safetensors"))
    content = path.read_bytes()
    path.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    refused(store.number, path.name)


def test_a_changed_manifest_that_head_names(tmp_path):
    grown(tmp_path / "store", 1)
    store = Opened(tmp_path / "store", tmp_path)
    path = store.path("record/manifest.json")
    path.write_bytes(path.read_bytes().replace(b'"rounds": 1', b'"rounds": 7'))
    store.point()
    refused(LightStore(tmp_path / "store").current, "to match its own digest")


def test_weights_behind_a_link(tmp_path):
    store = grown(tmp_path / "store", 1)
    path = next(store.path.glob("versions/*/model/weights.safetensors"))
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    refused(store.number, "it is a link or no file")


def test_a_manifest_of_a_terabyte(tmp_path):
    store = grown(tmp_path / "store", 1)
    os.truncate(next(store.path.glob("versions/*/record/manifest.json")), 2**40)
    refused(store.current, "bytes in")


def test_the_current_version_is_lost(tmp_path):
    store = grown(tmp_path / "store", 2)
    shutil.rmtree(versions.list_versions(store.path)[2])
    assert versions.find_faults(store.path, head.read_head(store.path))


class Stopped(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize(
    ("module", "name"), [(disk, "put_in_place"), (commit, "write_head")]
)
def test_a_stopped_writer_is_followed_by_one_that_does_it_all(
    tmp_path, monkeypatch, module, name
):
    def stop(*_):
        raise Stopped

    grown(tmp_path / "store", 1)
    with monkeypatch.context() as patched:
        patched.setattr(module, name, stop)
        with pytest.raises(Stopped):
            LightStore(tmp_path / "store").step()
    assert LightStore(tmp_path / "store").step().number == 2


def test_a_second_rollback_goes_back_further(tmp_path):
    store = grown(tmp_path / "store", 3, keep=3)
    store.rollback()
    assert store.rollback().restores == 1


@pytest.mark.parametrize("locked", [False, True], ids=["", "with a file LOCK"])
def test_a_folder_of_somebody_else(tmp_path, locked):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "mine.txt").write_text("mine")
    if locked:
        (tmp_path / "LOCK").touch()
    refused(LightStore(tmp_path).step, "mine.txt")
    assert (tmp_path / "tmp" / "mine.txt").read_text() == "mine"
    assert locked or os.listdir(tmp_path) == ["tmp"]


def test_a_network_file_system(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"30 22 0:40 / {tmp_path} rw shared:2 - nfs4 server:/export rw\n")
    monkeypatch.setattr(place, "MOUNTS", mounts)
    refused(LightStore(tmp_path / "store").step, "network file system")


def test_a_rollback_to_what_is_damaged(tmp_path):
    store = grown(tmp_path / "store", 2)
    weights = next(store.path.glob("versions/00000001-*/model/weights.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x07")
    refused(lambda: store.rollback(to=1), "Expected version 1 to be whole")


def test_a_freeze_that_cannot_be_read_freezes(tmp_path):
    store = grown(tmp_path / "store", 1)
    (store.path / "FROZEN").mkdir()
    assert store.frozen


def test_the_first_reason_of_a_freeze_stays(tmp_path):
    store = grown(tmp_path / "store", 1)
    store.freeze("one")
    store.freeze("two")
    assert store.frozen.endswith("one")


def test_a_window_that_was_applied_changes_nothing(tmp_path):
    store = Store(tmp_path / "store", clock=lambda: NOON)
    store.commit(fitted(), window())
    before = snapshot(store.path)
    assert store.commit(fitted(), window()).number == 1
    assert snapshot(store.path) == before


def test_a_window_from_the_future(tmp_path):
    store = Store(tmp_path / "store", clock=lambda: datetime(2020, 1, 1, tzinfo=UTC))
    refused(lambda: store.check_window(window(1), fitted()), "the clock of this machine")
    refused(lambda: store.commit(fitted(), window()), "the clock of this machine")
    assert store.empty


def test_rows_that_the_model_remembers(tmp_path):
    store = Store(tmp_path / "store", clock=lambda: NOON)
    refused(lambda: store.check_window(window(1), updated()), "that the model remembers")
    store.commit(fitted(), window())
    part = window(0).take(np.arange(len(window(0))) >= 100)
    refused(lambda: store.commit(updated(), part), "that the model remembers")


def test_a_model_of_another_round(tmp_path):
    store = Store(tmp_path / "store", clock=lambda: NOON)
    refused(
        lambda: store.commit(updated(), window(1)),
        "Expected a model of round 1 to start with",
    )


def test_a_version_without_a_canary(tmp_path):
    store = Store(tmp_path / "store", clock=lambda: NOON)
    store.commit(fitted(), window())
    Opened(store.path, tmp_path).seal(
        "record", weights=(8).to_bytes(8, "little") + b"{}      "
    )
    refused(store.load, "Expected a canary")


def test_a_canary_with_the_answers_of_another_model(tmp_path):
    store = Store(tmp_path / "store", clock=lambda: NOON)
    store.commit(fitted(), window())
    CASES["sealed record: another model's answers"](Opened(store.path, tmp_path))
    refused(store.load, "canary")
