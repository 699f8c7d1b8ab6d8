"""An error of the disk, or a stop, at every operation of a commit: the old version or the new one, whole, and a sentence."""

import errno
import os
import re
import shutil

import pytest

from realloc.errors import StoreError
from tests.faults.recording import stopping
from tests.store.light import LightStore, grown, snapshot


class Stopped(BaseException):
    """Stands for a kill: nothing may catch it."""


CASES = {
    "input/output error": (OSError(errno.EIO, "Input/output error"), False, False),
    "disk full": (OSError(errno.ENOSPC, "No space left on device"), False, True),
    "read-only": (OSError(errno.EROFS, "Read-only file system"), False, False),
    "error reported late": (OSError(errno.EIO, "Input/output error"), True, False),
    "killed before": (Stopped(), False, True),
    "killed after": (Stopped(), True, False),
}


@pytest.mark.parametrize("rounds", [0, 3])
@pytest.mark.parametrize("case", CASES)
def test_a_failure_at_any_operation_leaves_one_whole_version(tmp_path, case, rounds):
    problem, after, torn = CASES[case]
    base, plain = grown(tmp_path / "base", rounds), grown(tmp_path / "plain", rounds + 2)
    hits = []
    for n in range(1, 200):
        store = LightStore(tmp_path / str(n))
        if rounds:
            shutil.copytree(base.path, store.path)
        with stopping(n, problem, after, torn) as seen:
            try:
                store.step()
                failed = None
            except (StoreError, Stopped) as found:
                failed = found
        if seen["hit"] is None:
            assert failed is None
            break
        hits.append(seen["hit"])
        number = LightStore(store.path).number() if store.path.exists() else 0
        assert number in (rounds, rounds + 1)
        if failed is None:
            assert number == rounds + 1  # it failed while old versions were removed: what counts was done
        elif isinstance(failed, StoreError):
            said_current = "The version is current" in str(failed)
            assert said_current == (number == rounds + 1)
            assert re.search(r"Input/output|No space|Read-only", str(failed))
        again = LightStore(store.path)
        again.step(window=rounds + 1)
        again.step(window=rounds + 2)
        assert snapshot(store.path) == snapshot(plain.path)
        assert os.listdir(store.path / "tmp") == []
    else:
        pytest.fail("never ran through")
    assert {"write_new_file", "make_folder", "rename", "sync_folder"} <= set(hits)


def test_control_acknowledging_before_the_pointer_moves_would_be_noticed(tmp_path):
    """What the test above looks for does happen: stopped before the pointer, the store holds the old version."""
    store = grown(tmp_path / "store", 1)
    with stopping(10**6, Stopped()) as seen:
        store.step()
    total = seen["count"]
    outcomes = set()
    for n in range(1, total + 1):
        other = grown(tmp_path / str(n), 1)
        with stopping(n, Stopped(), after=True), pytest.raises(Stopped):
            other.step()
        outcomes.add(LightStore(other.path).number())
    assert outcomes == {1, 2}  # so a store that acknowledged at the wrong moment would be told from a right one
