"""What the guards of the store are there for, one small check each: it passes, and fails where its guard is off."""

import os
import shutil
from datetime import UTC, datetime

import numpy as np
import pytest

from realloc.base.errors import ArtifactError, ReallocError, StoreError
from realloc.model import recommend as recommendation
from realloc.storage.store import canary, commit, head, place, versions
from realloc.storage.store.store import Store, _check_new
from tests.faults.hostile import CASES, WRITING, Opened
from tests.small import fitted, updated, window
from tests.storage.store import test_export
from tests.storage.store.light import NOON, LightStore, grown, snapshot


def refused(call, match: str) -> None:
    with pytest.raises(ReallocError, match=match):
        call()


def two_writers(folder, _):
    with LightStore(folder / "store").writer():
        refused(LightStore(folder / "store").step, "another process is writing")


def hostile(name, call, match):
    """A case of the hostile stores, on a store that costs nothing: `call(store)` is refused."""

    def check(folder, _):
        grown(folder / "store", 1)
        (folder / "outside").mkdir()
        (folder / "outside" / "secret").write_text("secret")
        (CASES | WRITING)[name](Opened(folder / "store", folder / "outside"))
        refused(lambda: call(LightStore(folder / "store")), match)
        assert os.listdir(folder / "outside") == ["secret"]

    return check


def sealed(part, match, **changes):
    """A current version with other values whose digests all match is refused."""

    def check(folder, _):
        grown(folder / "store", 2)
        Opened(folder / "store", folder).seal(part, **changes)
        refused(LightStore(folder / "store").number, match)

    return check


def strange_version(folder, _):
    grown(folder / "store", 1)
    (folder / "store" / "versions" / "mine").mkdir()
    refused(LightStore(folder / "store").current, "'mine' is none")


def two_of_a_number(folder, _):
    store = grown(folder / "store", 1)
    one = next((store.path / "versions").iterdir())
    shutil.copytree(one, one.with_name("00000001-ffffffff"))
    refused(store.current, "repeats a number")


def link_to_a_version(folder, _):
    store = grown(folder / "store", 1)
    one = next((store.path / "versions").iterdir())
    one.rename(folder / "moved")
    one.symlink_to(folder / "moved")
    refused(store.current, "a link")


def link_to_versions(folder, _):
    store = grown(folder / "store", 1)
    (store.path / "versions").rename(folder / "moved")
    (store.path / "versions").symlink_to(folder / "moved")
    refused(store.current, "it is a link")


def of_another_store(number, use):
    """A whole version of another store, under its own name, in the place of one of ours."""

    def check(folder, _):
        ours, theirs = grown(folder / "ours", 2), LightStore(folder / "theirs")
        theirs.step(window=8)
        theirs.step(window=9)
        shutil.rmtree(versions.list_versions(ours.path)[number])
        place = versions.list_versions(theirs.path)[number]
        shutil.copytree(place, ours.path / "versions" / place.name)
        refused(lambda: use(ours), "digest")

    return check


def under_our_name(folder, _):
    ours, theirs = grown(folder / "ours", 2), LightStore(folder / "theirs")
    theirs.step(window=8)
    place = versions.list_versions(ours.path)[1]
    shutil.rmtree(place)
    shutil.copytree(versions.list_versions(theirs.path)[1], place)
    refused(lambda: ours.rollback(to=1), "digest")


def another_number(folder, _):
    store = grown(folder / "store", 1)
    place = versions.list_versions(store.path)[1]
    place.rename(place.with_name(f"00000005-{place.name[9:]}"))
    (store.path / "HEAD").write_bytes(head.Head(5, head.read_head(store.path).digest).line())
    refused(store.current, "Expected version 5 .* got 1")


def stranger_in_version(folder, _):
    store = grown(folder / "store", 1)
    (versions.list_versions(store.path)[1] / "x.pkl").touch()
    refused(store.number, "x.pkl")


def models_swapped(folder, _):
    store = grown(folder / "store", 2)
    one, two = versions.list_versions(store.path).values()
    shutil.rmtree(two / "model")
    shutil.copytree(one / "model", two / "model")
    refused(store.number, "Expected the digest of the record")


def models_swapped_for_real(folder, _):
    store = test_export.committed(folder / "store")
    one, two = versions.list_versions(store.path).values()
    shutil.rmtree(two / "model")
    shutil.copytree(one / "model", two / "model")
    refused(store.load, "Expected the digest of the record")


def flipped_in(name):
    def check(folder, _):
        store = grown(folder / "store", 1)
        path = next(store.path.glob(f"versions/*/{name}"))
        content = path.read_bytes()
        path.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
        refused(store.number, path.name)

    return check


def version_lost(folder, _):
    store = grown(folder / "store", 2)
    shutil.rmtree(versions.list_versions(store.path)[2])
    assert versions.find_faults(store.path, head.read_head(store.path))


class Stopped(BaseException):
    """Stands for a kill."""


def stopped_at(name):
    """A writer that was stopped just before a step is followed by one that does it all."""

    def check(folder, patch):
        def stop(*_):
            raise Stopped

        grown(folder / "store", 1)
        with patch.context() as patched:
            patched.setattr(commit, name, stop)
            with pytest.raises(Stopped):
                LightStore(folder / "store").step()
        assert LightStore(folder / "store").step().number == 2

    return check


def rolled_back_twice(folder, _):
    store = grown(folder / "store", 3, keep=3)
    store.rollback()
    assert store.rollback().restores == 1


def foreign_folder(folder, _):
    (folder / "tmp").mkdir()
    (folder / "tmp" / "mine.txt").write_text("mine")
    refused(LightStore(folder).step, "mine.txt")
    assert os.listdir(folder) == ["tmp"]


def foreign_folder_with_a_lock(folder, _):
    (folder / "LOCK").touch()
    (folder / "tmp").mkdir()
    (folder / "tmp" / "mine.txt").write_text("mine")
    refused(LightStore(folder).step, "mine.txt")
    assert (folder / "tmp" / "mine.txt").exists()


def on_the_network(folder, patch):
    (folder / "mounts").write_text(f"30 22 0:40 / {folder} rw shared:2 - nfs4 server:/export rw\n")
    with patch.context() as patched:
        patched.setattr(place, "MOUNTS", folder / "mounts")
        refused(LightStore(folder / "store").step, "network file system")


def back_to_what_is_damaged(folder, _):
    store = grown(folder / "store", 2)
    weights = next(store.path.glob("versions/00000001-*/model/weights.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x07")
    refused(lambda: store.rollback(to=1), "Expected version 1 to be whole")


def another_old_model(strange: bool):
    """A folder `model` that is not what version 1 repeats stays."""

    def check(folder, _):
        store = grown(folder / "store", 1)
        shutil.copytree(versions.list_versions(store.path)[1] / "model", store.path / "model")
        path = store.path / "model" / ("mine.txt" if strange else "weights.safetensors")
        path.write_bytes(b"mine")
        store.step()
        assert path.read_bytes() == b"mine"

    return check


def frozen_by_what_cannot_be_read(folder, _):
    store = grown(folder / "store", 1)
    (store.path / "FROZEN").mkdir()
    assert store.frozen


def the_first_reason_stays(folder, _):
    store = grown(folder / "store", 1)
    store.freeze("one")
    store.freeze("two")
    assert store.frozen.endswith("one")


def applied_twice(folder, _):
    store = Store(folder / "store", clock=lambda: NOON)
    store.commit(fitted(), window())
    before = snapshot(store.path)
    assert store.commit(fitted(), window()).number == 1
    assert snapshot(store.path) == before


def from_the_future(folder, _):
    store = Store(folder / "store", clock=lambda: datetime(2020, 1, 1, tzinfo=UTC))
    refused(lambda: store.commit(fitted(), window()), "the clock of this machine")
    assert store.empty


def from_the_future_before_learning(folder, _):
    store = Store(folder / "store", clock=lambda: datetime(2020, 1, 1, tzinfo=UTC))
    refused(lambda: store.check_window(window(), fitted()), "the clock of this machine")


def known_rows_before_learning(folder, _):
    store = Store(folder / "store", clock=lambda: NOON)
    refused(lambda: store.check_window(window(1), updated()), "that the model remembers")


def known_rows(folder, _):
    refused(lambda: _check_new(window(1), updated(), 2, False), "that the model remembers")


def known_rows_at_commit(folder, _):
    store = Store(folder / "store", clock=lambda: NOON)
    store.commit(fitted(), window())
    part = window(0).take(np.arange(len(window(0))) >= 100)
    refused(lambda: store.commit(updated(), part), "that the model remembers")


def of_another_round(folder, _):
    store = Store(folder / "store", clock=lambda: NOON)
    refused(
        lambda: store.commit(updated(), window(1)),
        "Expected a model of round 1 to start with, got round 2",
    )


def answers_with(change):
    """A model whose canary answers so is not committed."""

    def check(folder, patch):
        real = recommendation.recommend_rows

        def bad(*arguments):
            decision = real(*arguments)
            change(decision)
            return decision

        with patch.context() as patched:
            patched.setattr(recommendation, "recommend_rows", bad)
            refused(
                lambda: canary.ask(fitted(), canary.choose_rows(window())),
                "in the canary's answers",
            )

    return check


def no_number(decision):
    decision.gain.setflags(write=True)
    decision.gain[0] = np.nan


def off_the_simplex(decision):
    decision.shares.setflags(write=True)
    decision.shares[0] += 0.1


def without_a_canary(folder, _):
    store = Store(folder / "store", clock=lambda: NOON)
    store.commit(fitted(), window())
    Opened(store.path, folder).seal("record", weights=(8).to_bytes(8, "little") + b"{}      ")
    refused(store.load, "Expected a canary")


def linked_weights(folder, _):
    store = grown(folder / "store", 1)
    path = next(store.path.glob("versions/*/model/weights.safetensors"))
    path.rename(folder / "moved")
    path.symlink_to(folder / "moved")
    with pytest.raises((ArtifactError, StoreError), match="it is a link or no file"):
        store.number()


def huge_manifest(folder, _):
    store = grown(folder / "store", 1)
    os.truncate(next(store.path.glob("versions/*/record/manifest.json")), 2**40)
    with pytest.raises((ArtifactError, StoreError), match="bytes in"):
        store.current()


def changed_manifest(folder, _):
    """A manifest whose meta was changed, digest and all above it as they were, and HEAD made to match."""
    grown(folder / "store", 1)
    store = Opened(folder / "store", folder)
    path = store.path("record/manifest.json")
    path.write_bytes(path.read_bytes().replace(b'"rounds": 1', b'"rounds": 7'))
    store.point()
    refused(LightStore(folder / "store").current, "to match its own digest")
