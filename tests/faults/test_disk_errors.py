"""An error of the disk, or a stop, at every call of a commit that changes it: the old version
or the new one, whole.
"""

import errno
import os
import shutil

import pytest

from realloc.base.errors import StoreError
from tests.faults.recording import stopping
from tests.storage.store.light import LightStore, grown, snapshot

ROUNDS = 3


class Stopped(BaseException):
    """Stands for a kill: nothing may catch it."""


def problem(code: int) -> OSError:
    return OSError(code, os.strerror(code))


CASES = {
    "input/output error": (problem(errno.EIO), False, False),
    "disk full": (problem(errno.ENOSPC), False, True),
    "read-only": (problem(errno.EROFS), False, False),
    "permission lost": (problem(errno.EACCES), False, False),
    "error reported late": (problem(errno.EIO), True, False),
    "killed before": (Stopped(), False, True),
    "killed after": (Stopped(), True, False),
}


def fail_everywhere(folder, case, rounds, every=1):
    """Fail at the first call, the second, … (or every so-manieth) until a commit runs through;
    the calls that failed.
    """
    raised, after, torn = CASES[case]
    base, plain = grown(folder / "base", rounds), grown(folder / "plain", rounds + 2)
    wanted, hits = snapshot(plain.path), []
    for n in range(1, 300, every):
        store = LightStore(folder / "tried")
        if rounds:
            shutil.copytree(base.path, store.path)
        with stopping(n, raised, after, torn) as system:
            try:
                store.step()
                failed = None
            except (StoreError, Stopped) as found:
                failed = found
        if system.hit is None:
            assert failed is None
            return hits
        hits.append(system.hit)
        check(store, failed, rounds)
        LightStore(store.path).step(window=rounds + 1)
        LightStore(store.path).step(
            window=rounds + 2
        )  # removes old versions that the failure left
        assert snapshot(store.path) == wanted
        assert os.listdir(store.path / "tmp") == []
        shutil.rmtree(store.path)
    return pytest.fail("never ran through")


def check(store, failed, rounds):
    """The store is whole and holds the old version or the new one; the sentence says which, and
    what the disk said.
    """
    number = LightStore(store.path).number() if store.path.exists() else 0
    assert number in (rounds, rounds + 1)
    if failed is None:
        assert (
            number == rounds + 1
        )  # it failed while old versions were removed: what counts was done
    elif isinstance(failed, StoreError):
        assert ("The version is current" in str(failed)) == (number == rounds + 1)
        assert isinstance(failed.__cause__, OSError)
        assert failed.__cause__.strerror in str(failed)


@pytest.mark.parametrize("case", ["disk full", "killed before"])
def test_a_failure_at_any_call_leaves_one_whole_version(tmp_path, case):
    hits = fail_everywhere(tmp_path, case, ROUNDS)
    assert set(hits) == {
        "open",
        "write",
        "fsync",
        "close",
        "mkdir",
        "rename",
        "unlink",
        "rmdir",
    }
    assert len(hits) > 40


@pytest.mark.parametrize("case", CASES)  # at all calls by `make faults`
def test_so_does_any_other_failure_and_one_of_the_first_commit(tmp_path, case):
    for rounds in (0, ROUNDS):
        (tmp_path / str(rounds)).mkdir()
        assert len(fail_everywhere(tmp_path / str(rounds), case, rounds, every=7)) > 5


def test_control_acknowledging_before_the_pointer_moves_would_be_noticed(tmp_path):
    """What the test above looks for does happen: stopped before the pointer, the store holds
    the old version.
    """
    store = grown(tmp_path / "store", 1)
    with stopping(10**6, Stopped()) as system:
        store.step()
    outcomes = set()
    for n in (1, system.count):
        other = grown(tmp_path / str(n), 1)
        with stopping(n, Stopped(), after=True), pytest.raises(Stopped):
            other.step()
        outcomes.add(LightStore(other.path).number())
    assert outcomes == {
        1,
        2,
    }  # so a store that acknowledged at the wrong moment would be told from a right one
