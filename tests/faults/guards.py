"""Guards of the store, each with the line that switches it off and a check that must then fail.

A guard is switched off in its source: one text of a function is replaced by another, and the function gets the code of that.
Checks are tests of other files where there are such, and small ones here.
"""

import contextlib
import inspect
import os
import shutil
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from realloc import artifact, recommendation
from realloc.errors import ArtifactError, ReallocError, StoreError
from realloc.store import canary, commit, frozen, head, lock, place, record, restore, versions, windows
from realloc.store.store import Store, _check_new, _check_round
from tests.faults import test_flipped_bytes as flipped
from tests.faults.hostile import CASES, WRITING, Opened
from tests.small import fitted, updated, window
from tests.store import test_export, test_head, test_light, test_place, test_store, test_windows
from tests.store.light import NOON, LightStore, grown, snapshot


@dataclass(frozen=True)
class Guard:
    """`old` in the source of `function` becomes `new`; `check(folder, monkeypatch)` passes before and fails after."""

    function: Callable
    old: str
    new: str
    check: Callable[[Path, pytest.MonkeyPatch], None]


@contextlib.contextmanager
def switched_off(guard: Guard):
    """The function without its guard, wherever it was imported to."""
    function = getattr(guard.function, "__wrapped__", guard.function)
    source = textwrap.dedent(inspect.getsource(function))
    source = source[source.index("def ") :]
    assert source.count(guard.old) == 1, f"{guard.old!r} is not once in {function.__qualname__}"
    made = {}
    exec(compile(source.replace(guard.old, guard.new), inspect.getfile(function), "exec"), function.__globals__, made)  # noqa: S102
    kept = function.__code__
    function.__code__ = made[function.__name__].__code__
    try:
        yield
    finally:
        function.__code__ = kept


def refused(call, match: str) -> None:
    with pytest.raises(ReallocError, match=match):
        call()


# Checks


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
    refused(lambda: store.commit(updated(), window(1)), "Expected a model of round 1 to start with, got round 2")


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
            refused(lambda: canary.ask(fitted(), canary.choose_rows(window())), "in the canary's answers")

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


def tested(check, *arguments):
    """A test of another file, with its parameters; that it passes while the guard is on is shown there."""

    def call(folder, monkeypatch):
        check(
            *([folder] if "tmp_path" in names else []), *arguments, *([monkeypatch] if "monkeypatch" in names else [])
        )

    names = inspect.signature(check).parameters
    call.elsewhere = True
    return call


WRONG_WINDOW = {"first": "2026-01-01", "last": "2026-01-02", "rows": "x", "digest": "w", "hole_seconds": 1}
NO_TIMES = WRONG_WINDOW | {"rows": 1, "first": "2026-01-02", "last": "2026-01-01"}
canary_test = test_store.test_a_canary_that_sings_otherwise_stops_the_load

GUARDS = {
    "one writer": Guard(lock.locked, "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", two_writers),
    "no lock elsewhere": Guard(
        lock.locked, " | os.O_NOFOLLOW", "", hostile("LOCK is a link to nothing", LightStore.step, "failed")
    ),
    "format": Guard(
        place.is_store, "content != FORMAT_LINE", "False", tested(test_place.test_a_newer_format_asks_for_an_upgrade)
    ),
    "a free folder": Guard(
        Store._enter,
        "if not is_store(self.path) and not (self.path / LOCK).exists():\n        check_free(self.path)",
        "pass",
        foreign_folder,
    ),
    "a free folder, under the lock": Guard(
        Store._enter,
        "if not is_store(self.path):\n        check_free(self.path)",
        "pass",
        foreign_folder_with_a_lock,
    ),
    "strangers": Guard(place.check_free, "if strange:", "if False:", foreign_folder),
    "a folder, not a file": Guard(
        place.check_free,
        "if root.exists() and not root.is_dir():",
        "if False:",
        tested(test_place.test_a_file_in_the_place_of_the_folder_is_named),
    ),
    "folders, not links": Guard(
        place.check_folders,
        "place.is_symlink()",
        "False",
        hostile("tmp is a link", LightStore.step, "it is a link"),
    ),
    "no network": Guard(place.check_local, "if kind in NETWORK:", "if False:", on_the_network),
    "no network, asked": Guard(Store._enter, "if not self.allow_network:", "if False:", on_the_network),
    "pointer": Guard(
        head.read_head,
        "head is None or head.line() != content",
        "head is None",
        tested(
            test_head.test_any_other_spelling_is_refused_and_says_what_to_do, test_head.LINE.replace(b"42 ", b"43 ")
        ),
    ),
    "names of versions": Guard(
        versions.list_versions,
        "if match is None or ",
        "if match is None:\n            continue\n        if ",
        strange_version,
    ),
    "one folder for a number": Guard(versions.list_versions, "int(match[1]) in found or ", "", two_of_a_number),
    "versions are no links": Guard(versions.list_versions, " or (place / name).is_symlink()", "", link_to_a_version),
    "the folder of versions is none": Guard(
        versions.list_versions, "if place.is_symlink():", "if False:", link_to_versions
    ),
    "digest of the current record": Guard(
        versions.read_version,
        "(digest is not None and own != digest)",
        "False",
        of_another_store(2, LightStore.current),
    ),
    "digest of other records": Guard(
        versions.read_version, "not folder.name.endswith(own[:8])", "False", under_our_name
    ),
    "number of a record": Guard(
        versions.read_version, "version.number != int(folder.name[:8])", "False", another_number
    ),
    "types of a record": Guard(
        versions.Version.__post_init__,
        'check_types(self, "the record")',
        "pass",
        sealed("record", "rounds", meta={"rounds": "x"}),
    ),
    "types of its windows": Guard(
        versions.Version.__post_init__,
        'check_types(window, "the record")',
        "pass",
        sealed("record", "windows", meta={"windows": [WRONG_WINDOW]}),
    ),
    "times of its windows": Guard(
        windows.WindowId.__post_init__,
        "not np.datetime64(self.first) <= np.datetime64(self.last)",
        "False",
        sealed("record", "windows", meta={"windows": [NO_TIMES]}),
    ),
    "time of a record": Guard(
        versions.Version.__post_init__,
        "datetime.fromisoformat(self.created)",
        "pass",
        sealed("record", "created", meta={"created": "[/red]"}),
    ),
    "digits of a record": Guard(
        versions.Version.__post_init__,
        "not 0 <= self.money_digits <= MOST_DIGITS",
        "False",
        sealed("record", "money_digits", meta={"money_digits": 10**9}),
    ),
    "strangers in a version": Guard(versions.check_model, "if strange:", "if False:", stranger_in_version),
    "model of the record": Guard(versions.check_model, "!= kept.version.model", "== 0", models_swapped),
    "every byte of the model": Guard(
        versions.check_model,
        "read_artifact(kept.folder / MODEL, MODEL)",
        "pass",
        flipped_in("model/weights.safetensors"),
    ),
    "chain of versions": Guard(
        versions.find_faults,
        "expected[kept.version.parent] = kept.version.parent_digest",
        "pass",
        of_another_store(1, LightStore.number),
    ),
    "the current one is there": Guard(versions.find_faults, "head.number not in folders", "False", version_lost),
    "bytes of weights": Guard(
        artifact._read_folder,
        '_sha256(content) != expected["sha256"]',
        "False",
        flipped_in("model/weights.safetensors"),
    ),
    "bytes of a manifest": Guard(
        artifact._read_manifest,
        'digest != _sha256(_to_bytes(table)) or content != _to_bytes({**table, "digest": digest})',
        "False",
        lambda folder, _: refused_manifest(folder),
    ),
    "names in an artifact": Guard(
        artifact._check_names,
        "if strange:",
        "if False:",
        hostile("stranger 'model.pkl' beside the model", LightStore.number, "model.pkl"),
    ),
    "plain files": Guard(artifact.read_plain, "not stat.S_ISREG(os.lstat(path).st_mode)", "False", linked_weights),
    "length of files": Guard(artifact.read_plain, "not least <= length <= most", "False", huge_manifest),
    "the gate": Guard(
        commit._publish,
        "canary = gate(work / MODEL)",
        "canary = {}",
        tested(test_light.test_a_candidate_that_fails_its_gate_is_put_aside_and_the_old_version_stays),
    ),
    "the gate asks": Guard(
        Store._gate,
        "canary.check(load(folder), expected, version.machine == canary.machine())",
        "pass",
        tested(test_store.test_the_gate_puts_aside_a_model_that_reads_back_as_another),
    ),
    "pointer that was put back": Guard(
        commit.clear_unfinished,
        "if newest > number + 1:",
        "if False:",
        tested(test_light.test_a_pointer_that_was_put_back_is_told_instead_of_losing_versions),
    ),
    "version without a pointer": Guard(
        commit.clear_unfinished, "if newest > number:", "if False:", stopped_at("point")
    ),
    "half-made version": Guard(
        commit.clear_unfinished, 'disk.empty_folder(root / "tmp")', "pass", stopped_at("_write_part")
    ),
    "needed versions": Guard(commit.forget_old, " if number not in needed", "", rolled_back_twice),
    "retention": Guard(
        commit.forget_old,
        "[:-keep]",
        "[:0]",
        tested(test_light.test_old_versions_go_but_never_the_current_one_or_its_parent),
    ),
    "least to keep": Guard(
        Store.__init__,
        "if keep < 2:",
        "if False:",
        tested(test_light.test_old_versions_go_but_never_the_current_one_or_its_parent),
    ),
    "a window once": Guard(Store.commit, "_has(parent.version, new)", "False", applied_twice),
    "order at commit": Guard(
        Store.commit, "check_order(new, known, self.clock(), allow_gap, allow_overlap)", "pass", from_the_future
    ),
    "new rows at commit": Guard(
        Store.commit, "_check_new(window, model, model.fitted.rounds - 1, allow_overlap)", "pass", known_rows_at_commit
    ),
    "round at commit": Guard(
        Store.commit, "_check_round(model, parent.version if parent else None, again)", "pass", of_another_round
    ),
    "order before learning": Guard(
        Store.check_window,
        "check_order(identify(window), known, self.clock(), allow_gap, allow_overlap)",
        "pass",
        from_the_future_before_learning,
    ),
    "new rows before learning": Guard(
        Store.check_window,
        "_check_new(window, model, model.fitted.rounds, allow_overlap)",
        "pass",
        known_rows_before_learning,
    ),
    "new rows": Guard(_check_new, "if repeats and not allow_overlap:", "if False:", known_rows),
    "round": Guard(_check_round, "if model.fitted.rounds != wanted:", "if False:", of_another_round),
    "windows with rows": Guard(
        windows.identify, "if not len(logs):", "if False:", tested(test_windows.test_an_empty_window_is_refused)
    ),
    "no future": Guard(
        windows.check_order,
        "if last >= np.datetime64((now + timedelta(days=2)).date().isoformat()):",
        "if False:",
        tested(test_windows.test_a_window_from_the_future_is_refused_also_after_the_clock_went_back),
    ),
    "order of windows": Guard(
        windows.check_order,
        "if last < np.datetime64(latest.last) and not allow_overlap:",
        "if False:",
        tested(test_windows.test_a_window_from_before_is_refused_unless_allowed),
    ),
    "holes": Guard(
        windows.check_order,
        "if longest and hole > longest and not allow_gap:",
        "if False:",
        tested(test_windows.test_a_hole_is_refused_unless_allowed),
    ),
    "clock that goes back": Guard(
        record.stamp, "max(text, parent)", "text", tested(test_light.test_times_never_run_against_the_numbers)
    ),
    "whole before a load": Guard(Store.load, "check_model(kept)", "pass", models_swapped_for_real),
    "canary at a load": Guard(
        Store.load,
        "canary.check(model, kept.canary, kept.version.machine == canary.machine())",
        "pass",
        tested(canary_test),
    ),
    "a canary at all": Guard(Store.load, "if kept.version.windows and not kept.canary:", "if False:", without_a_canary),
    "canary to the bit": Guard(
        canary.check, "found[name].tobytes() != expected[name].tobytes()", "False", tested(canary_test)
    ),
    "canary elsewhere": Guard(canary.check, "if not turned <= allowed:", "if False:", tested(canary_test)),
    "numbers of the canary": Guard(
        canary.ask, "if not np.isfinite(found[name]).all():", "if False:", answers_with(no_number)
    ),
    "simplex of the canary": Guard(
        canary.ask,
        'found["shares"].min() < 0 or np.abs(found["shares"].sum(axis=1) - 1).max() > 1e-9',
        "False",
        answers_with(off_the_simplex),
    ),
    "whole before a rollback": Guard(restore.find_target, "check_model(target)", "pass", back_to_what_is_damaged),
    "newest where HEAD was put back": Guard(
        restore.find_head,
        "newest <= head.number + 1",
        "True",
        tested(test_light.test_a_pointer_that_was_put_back_is_told_instead_of_losing_versions),
    ),
    "damaged versions aside": Guard(
        restore.put_damaged_aside,
        'disk.rename(folder, root / "quarantine" / folder.name)',
        "pass",
        tested(flipped.test_after_any_damage_to_what_is_current_a_rollback_works, "model/weights.safetensors"),
    ),
    "old model with strangers": Guard(
        restore.clear_old_model, " or set(os.listdir(folder)) - set(NAMES)", "", another_old_model(True)
    ),
    "old model that differs": Guard(
        restore.clear_old_model,
        "if read_files(folder) == read_files(first / MODEL):",
        "if True:",
        another_old_model(False),
    ),
    "frozen though unreadable": Guard(
        frozen.why_frozen, 'None if gone else "for a reason that cannot be read"', "None", frozen_by_what_cannot_be_read
    ),
    "first reason": Guard(
        frozen.freeze,
        "with suppress(FileExistsError):",
        "if True:\n            remove = (root / FROZEN).unlink(missing_ok=True)",
        the_first_reason_stays,
    ),
    "export only what is whole": Guard(
        Store.export,
        "self.load(number)",
        "pass",
        tested(test_export.test_what_is_damaged_is_not_exported_and_the_store_is_no_place_for_it),
    ),
    "export outside": Guard(
        Store.export,
        'os.path.realpath(target).startswith(os.path.join(os.path.realpath(self.path), ""))',
        "False",
        tested(test_export.test_what_is_damaged_is_not_exported_and_the_store_is_no_place_for_it),
    ),
}


def refused_manifest(folder):
    """A manifest whose meta was changed, digest and all above it as they were, and HEAD made to match."""
    grown(folder / "store", 1)
    store = Opened(folder / "store", folder)
    path = store.path("record/manifest.json")
    path.write_bytes(path.read_bytes().replace(b'"rounds": 1', b'"rounds": 7'))
    store.point()
    refused(LightStore(folder / "store").current, "to match its own digest")
