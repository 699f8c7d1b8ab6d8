"""Kills, a disk that fails at any operation, two runs at once: the old output or the new one,
whole, and one log entry.
"""

import errno
import os
import random
import resource
import shutil
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from realloc.base import disk
from realloc.base.errors import ReallocError, StoreError
from realloc.batch import run as batch_run
from realloc.storage.ledger import Ledger
from realloc.storage.store import Store
from tests.batch.conftest import recommend
from tests.batch.stops import stopping
from tests.faults import recording

KILLS = 8


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


@pytest.fixture
def frozen(place):
    """A place where an answer costs nothing: the store is frozen, and an older output is there."""
    Store(place / "store").freeze("a test")
    shutil.copy(place / "today.parquet", place / "recs.parquet")
    return place


def run(place):
    return recommend(place, chunk_rows=100)


def entries(place):
    ledger = Ledger(place / "store" / "decisions")
    assert ledger.verify() == ()
    return len(ledger.numbers())


@pytest.mark.parametrize("case", ["disk full", "killed after"])
def test_a_failure_at_any_operation_leaves_the_old_output_and_the_next_run_ends_as_if_nothing_was(
    frozen, tmp_path, case
):
    problem, after, torn = CASES[case]
    old = (frozen / "recs.parquet").read_bytes()
    shutil.copytree(frozen, tmp_path / "plain")
    run(tmp_path / "plain")
    new = (tmp_path / "plain" / "recs.parquet").read_bytes()
    hits = []
    for n in range(1, 200):
        place = tmp_path / str(n)
        shutil.copytree(frozen, place)
        with stopping(n, problem, after, torn) as seen:
            try:
                run(place)
                failed = None
            except (ReallocError, Stopped) as found:
                failed = found
        if seen["hit"] is None:
            assert failed is None
            break
        hits.append(seen["hit"])
        assert (place / "recs.parquet").read_bytes() in (old, new)
        assert entries(place) <= 1
        if isinstance(failed, ReallocError):
            said = "is there" in str(failed)
            assert said == ((place / "recs.parquet").read_bytes() == new)
        run(place)
        assert (place / "recs.parquet").read_bytes() == new
        assert entries(place) == 1 + (failed is None)
        assert sorted(p.name for p in place.iterdir()) == [
            "recs.parquet",
            "recs.summary.json",
            "store",
            "today.parquet",
        ]
        shutil.rmtree(place)
    else:
        pytest.fail("never ran through")
    assert set(hits) == {
        "write_new_file",
        "make_folder",
        "rename",
        "link",
        "remove_file",
        "sync_folder",
        "sync_file",
    }


def run_on_a_small_disk(place, limit):
    """In a child, where the system refuses files above a size in the middle of a write: 3 where
    that was said.
    """

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            run(place)
        except StoreError as problem:
            return 3 if "File too large" in str(problem) else 4
        return 0

    return fork(small)


@pytest.mark.parametrize("limit", [100, 5_000])
def test_a_full_disk_is_said_and_changes_nothing(frozen, limit):
    old = (frozen / "recs.parquet").read_bytes()
    assert run_on_a_small_disk(frozen, limit) == 3
    assert (frozen / "recs.parquet").read_bytes() == old
    run(frozen)
    assert pq.read_table(frozen / "recs.parquet").num_rows == 150


@pytest.mark.parametrize("in_place", [False, True])
def test_an_output_that_does_not_fit_leaves_the_old_one_and_control_written_in_place_it_would_not(
    frozen, monkeypatch, in_place
):
    old = (frozen / "recs.parquet").read_bytes()
    with (
        monkeypatch.context() as patch
    ):  # all parts are finished, so that the output is the first that does not fit
        patch.setattr(batch_run, "write_beside", lambda *_: (_ for _ in ()).throw(Stopped))
        with pytest.raises(Stopped):
            run(frozen)
    if in_place:
        monkeypatch.setattr(disk, "beside", lambda out: out)
    assert run_on_a_small_disk(frozen, 5_000) == 3
    kept = (frozen / "recs.parquet").exists() and (
        frozen / "recs.parquet"
    ).read_bytes() == old
    assert kept is not in_place
    assert list(frozen.glob(".recs.parquet.new")) == []  # half a file would only take room


def fork(work) -> int:
    """The exit code of `work` in a child; a signal is negative."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = work()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def start_and_kill(work, delay: float) -> bool:
    """Whether it was killed amid its work."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def survive(
    place: Path, kills: int, longest: float, seed: int, chunk_rows: int = 16
) -> tuple[int, int]:
    """Kill runs at random moments, then let one run through: how many were killed amid a run,
    parts found finished.
    """
    draw, amid, resumed = random.Random(seed), 0, 0
    for _ in range(kills):
        amid += start_and_kill(
            lambda: recommend(place, chunk_rows=chunk_rows), draw.uniform(0, longest)
        )
        if (place / "recs.parquet").exists():
            pq.read_table(place / "recs.parquet")
        assert Ledger(place / "store" / "decisions").verify() == ()
        resumed += len(list(place.glob(".recs.parquet.work/*/*.json")))
    assert fork(lambda: recommend(place, chunk_rows=chunk_rows) and 0) == 0
    return amid, resumed


def test_killed_runs_go_on_where_they_were_and_end_in_the_same_bytes(place, tmp_path):
    shutil.copytree(place, tmp_path / "plain")
    begun = time.perf_counter()
    assert fork(lambda: recommend(tmp_path / "plain", chunk_rows=16) and 0) == 0
    took = time.perf_counter() - begun
    amid, resumed = survive(place, KILLS, took, 1)
    assert (place / "recs.parquet").read_bytes() == (
        tmp_path / "plain" / "recs.parquet"
    ).read_bytes()
    assert amid >= KILLS // 3
    assert resumed


def test_an_output_is_on_the_disk_before_it_has_its_name_and_so_is_the_name(frozen):
    seen = []

    def around(name, call, *arguments):
        seen.append((name, *(str(path) for path in arguments if isinstance(path, Path))))
        return call(*arguments)

    names, recording.NAMES = recording.NAMES, (*recording.NAMES, "sync_file")
    try:
        with recording.replaced(around):
            run(frozen)
    finally:
        recording.NAMES = names
    for name, begin in (
        ("recs.parquet", "sync_file"),
        ("recs.summary.json", "write_new_file"),
    ):
        beside, out = str(frozen / f".{name}.new"), str(frozen / name)
        named = seen.index(("rename", beside, out))
        assert (begin, beside) in seen[:named]
        assert seen[named + 1] == ("sync_folder", str(frozen))


def test_a_link_in_the_place_of_the_new_output_is_not_followed(frozen, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (frozen / ".recs.parquet.new").symlink_to(tmp_path / "mine.txt")
    run(frozen)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert not (frozen / "recs.parquet").is_symlink()


def test_runs_to_two_outputs_share_one_log(place):
    recommend(
        place,
        progress=lambda *_: (
            recommend(place, "other.parquet")
            if not (place / "other.parquet").exists()
            else 0
        ),
    )
    assert entries(place) == 2
