"""The journal of a service: what was acknowledged is in the log, whatever happens to the
process.
"""

import os
import signal
import time
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from realloc.base import disk
from realloc.base.errors import LedgerError
from realloc.storage.ledger import Ledger
from realloc.storage.ledger.journal import (
    JOURNAL,
    MOST_FULL,
    Recorder,
    read_frames,
    recover,
)
from tests.storage.ledger.conftest import entry


def rows(first: int, count: int = 1) -> pa.Table:
    return pa.table({"row": list(range(first, first + count)), "reason": ["moved"] * count})


def logged(ledger: Ledger) -> list[int]:
    return [
        row
        for one in ledger.entries()
        for table in ledger.read(one)
        for row in table["row"].to_pylist()
    ]


def test_small_batches_become_few_entries(tmp_path):
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service"), most_rows=10)
    for n in range(25):
        recorder.write(rows(n))
    assert len(ledger.numbers()) == 2
    recorder.close()
    assert logged(ledger) == list(range(25))
    assert ledger.verify() == ()
    assert list((ledger.path / JOURNAL).iterdir()) == []


def test_full_journals_wait_aside_until_somebody_makes_entries_of_them(tmp_path):
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service"), most_rows=2, aside=True)
    for n in range(5):
        recorder.write(rows(n))
    assert ledger.numbers() == []  # no answer has waited for an entry
    assert recover(ledger) == 0  # and nobody else takes them
    recorder.flush_if_old()
    assert logged(ledger) == [0, 1, 2, 3]
    for n in range(5, 5 + 2 * (MOST_FULL + 1)):
        recorder.write(rows(n))
    assert len(ledger.numbers()) == 3  # nobody makes entries of so many
    recorder.change(entry("service", version=4))
    recorder.write(rows(99))
    recorder.close()
    assert sorted(logged(ledger)) == [*range(5 + 2 * (MOST_FULL + 1)), 99]
    assert list(ledger.entries())[-1].version == 4
    assert ledger.verify() == ()
    assert list((ledger.path / JOURNAL).iterdir()) == []


def test_a_full_journal_of_which_no_entry_can_be_made_is_left_for_the_next(
    tmp_path, monkeypatch
):
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service"), most_rows=2, aside=True)

    def fail(*_):
        raise LedgerError("No space left.")

    for n in range(4):
        recorder.write(rows(n))
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", fail)
        recorder.flush_if_old()
    recorder.write(rows(4))
    recorder.close()
    assert logged(ledger) == [4]
    assert recover(ledger) == 2
    assert sorted(logged(ledger)) == list(range(5))


def test_rows_of_different_types_share_an_entry_and_can_be_queried_together(tmp_path):
    """A feature that one client sends as a number and another one as a flag or a date."""
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service"), most_rows=4)
    for n, value in enumerate([1.5, datetime(2026, 1, 1, tzinfo=UTC), "text", 2.5]):
        recorder.write(rows(n).append_column("inputs", pa.array([{"feature": value}])))
    assert [len(one.segments) for one in ledger.entries()] == [3]
    assert sorted(logged(ledger)) == [0, 1, 2, 3]
    assert ledger.verify() == ()
    assert sorted(ledger.dataset().to_table()["row"].to_pylist()) == [0, 1, 2, 3]
    assert list((ledger.path / JOURNAL).iterdir()) == []


def test_where_no_entry_can_be_made_answers_go_on_and_nothing_is_lost(
    tmp_path, monkeypatch
):
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service"), most_rows=2)

    def fail(*_):
        raise LedgerError("No space left.")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", fail)
        for n in range(5):
            recorder.write(rows(n))
        recorder.change(entry("service", version=4))
    recorder.write(rows(5))
    recorder.close()
    assert logged(ledger) == [5]
    assert recover(ledger) == 3
    assert sorted(logged(ledger)) == list(range(6))
    assert ledger.verify() == ()


def test_another_version_begins_another_entry(tmp_path):
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service", version=3))
    recorder.write(rows(0))
    recorder.change(entry("service", version=4))
    recorder.write(rows(1))
    recorder.close()
    assert [one.version for one in ledger.entries()] == [3, 4]


def test_a_journal_of_a_living_process_is_left_alone(tmp_path):
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service"))
    recorder.write(rows(0))
    assert recover(ledger) == 0
    recorder.close()
    assert logged(ledger) == [0]


def abandoned(ledger, count=2):
    """A journal whose process has ended."""
    recorder = Recorder(ledger, entry("service"))
    for n in range(count):
        recorder.write(rows(n))
    os.close(recorder._handle)


def test_whoever_opens_the_log_takes_over_what_was_left(tmp_path):
    ledger = Ledger(tmp_path / "decisions")
    abandoned(ledger)
    Recorder(ledger, entry("service"))
    assert logged(ledger) == [0, 1]


def test_a_journal_that_is_an_entry_already_is_not_added_twice(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "decisions")
    abandoned(ledger)

    def stop(path):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(disk, "remove_file", stop)
        with pytest.raises(KeyboardInterrupt):
            recover(ledger)
    assert logged(ledger) == [0, 1]
    assert recover(ledger) == 1
    assert logged(ledger) == [0, 1]
    assert list((ledger.path / JOURNAL).iterdir()) == []


def test_one_that_was_stopped_before_its_entry_is_taken_over(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "decisions")
    abandoned(ledger)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", stop)
        with pytest.raises(KeyboardInterrupt):
            recover(ledger)
    assert recover(ledger) == 1
    assert logged(ledger) == [0, 1]


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_all_of_them(tmp_path, monkeypatch):
    ledger, real = Ledger(tmp_path / "decisions"), os.write
    recorder = Recorder(ledger, entry("service"))
    with monkeypatch.context() as patch:
        patch.setattr(
            os, "write", lambda handle, content: real(handle, bytes(content[:100]))
        )
        recorder.write(rows(0))
    recorder.close()
    assert logged(ledger) == [0]


def test_rows_that_have_waited_become_an_entry_with_the_next(tmp_path):
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service"), most_seconds=0.0)
    recorder.write(rows(0))
    assert logged(ledger) == [0]


def test_an_answer_is_on_the_disk_before_it_is_given(tmp_path, monkeypatch):
    ledger, synced, folders = Ledger(tmp_path / "decisions"), [], []
    real = disk.sync_folder
    monkeypatch.setattr(
        disk, "sync_folder", lambda path: folders.append(path) or real(path)
    )
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))
    recorder = Recorder(ledger, entry("service"))
    for n in range(2):
        recorder.write(rows(n))
        path = next((ledger.path / JOURNAL).iterdir())
        assert (
            synced[-1] == path.stat().st_size
        )  # all of it, after the last byte was written
    assert folders[-1] == ledger.path / JOURNAL  # and its name


def serve_until_killed(ledger: Ledger, delay: float) -> int:
    """Write in a child until it is killed; how many rows it was told are logged."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            recorder = Recorder(ledger, entry("service"), most_rows=7)
            for n in range(10_000):
                recorder.write(rows(n))
                os.write(writer, b".")
        finally:
            os._exit(0)
    os.close(writer)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        return len(pipe.read())


@pytest.mark.parametrize("trial", range(6))
def test_no_acknowledged_decision_is_lost_to_a_kill(tmp_path, trial):
    ledger = Ledger(tmp_path / "decisions")
    told = serve_until_killed(ledger, 0.05 + 0.07 * trial)
    recover(ledger)
    found = logged(ledger)
    assert found[:told] == list(range(told))
    assert len(found) <= told + 1
    assert ledger.verify() == ()
    assert recover(ledger) == 0


def test_a_torn_last_frame_is_dropped_and_the_rest_kept(tmp_path):
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service"))
    for n in range(3):
        recorder.write(rows(n))
    path = next((ledger.path / JOURNAL).iterdir())
    whole = path.read_bytes()
    for cut in range(len(whole) - 40, len(whole)):
        path.write_bytes(whole[:cut])
        assert len(list(read_frames(path))) == 3  # who writes, and two of three
    path.write_bytes(whole)
    flipped = bytearray(whole)
    flipped[-5] ^= 1
    path.write_bytes(bytes(flipped))
    assert len(list(read_frames(path))) == 3


def test_what_cannot_be_written_raises_so_that_nothing_is_answered(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "decisions")
    recorder = Recorder(ledger, entry("service"))
    recorder.write(rows(0))
    real = os.write

    def full(handle, content):
        real(handle, bytes(content[:5]))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(LedgerError, match="No space left on device"):
            recorder.write(rows(1))
    recorder.write(rows(2))  # there is room again, and no half frame in between
    recorder.close()
    assert logged(ledger) == [0, 2]
