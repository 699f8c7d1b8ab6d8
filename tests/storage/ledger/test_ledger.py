"""The decision log: entries are added whole or not at all, form a chain, and no byte changes
unnoticed.
"""

import errno
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from realloc.base.errors import LedgerError
from realloc.storage.ledger import Ledger
from realloc.storage.ledger import entry as module
from realloc.storage.ledger.entry import ENTRY
from realloc.storage.ledger.ledger import TMP
from tests.batch.stops import stopping
from tests.faults import recording
from tests.storage.ledger.conftest import entry, segment


class Stopped(BaseException):
    """Stands for a kill."""


def files_of(ledger):
    return sorted(path for path in ledger.path.rglob("*") if path.is_file())


def test_entries_are_numbered_chained_and_found_by_their_run(ledger):
    found = list(ledger.entries())
    assert [one.number for one in found] == [1, 2, 3]
    assert [one.previous for one in found] == [None, found[0].digest, found[1].digest]
    assert ledger.find("run-1").number == 2
    assert ledger.find("run-9") is None
    assert [one.rows for one in found] == [4, 5, 6]
    assert ledger.verify() == ()


def test_all_rows_can_be_queried(ledger):
    assert ledger.dataset().count_rows() == 15
    assert sum(table.num_rows for table in ledger.read(next(ledger.entries()))) == 4


def test_one_flipped_bit_anywhere_is_found_and_its_file_named(ledger):
    unnoticed = []
    for path in files_of(ledger):
        content = path.read_bytes()
        for place in range(0, len(content), 3 if path.suffix == ".json" else 29):
            path.write_bytes(
                content[:place]
                + bytes([content[place] ^ 1 << place % 8])
                + content[place + 1 :]
            )
            faults = ledger.verify()
            if not any(str(path) in fault for fault in faults):
                unnoticed.append((path.name, place))
        path.write_bytes(content)
    assert unnoticed == []
    assert ledger.verify() == ()


def test_control_parquet_alone_does_not_notice(ledger):
    """What the digests are for: a flipped bit in the data that Arrow reads without a word."""
    import pyarrow.parquet as pq

    path = ledger.folder(1) / "rows-00000.parquet"
    content, plain, silent, noticed = path.read_bytes(), pq.read_table(path), 0, 0
    for place in range(4, len(content), 11):
        path.write_bytes(
            content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        )
        try:
            silent += not pq.read_table(path).equals(plain)
        except (OSError, ValueError, NotImplementedError):
            noticed += 1
    assert silent, f"{noticed} noticed"


HOW = (
    "cut",
    "emptied",
    "gone",
    "swapped",
    "put in between",
    "taken out",
    "further file",
    "respelled",
    "of another log",
)


@pytest.mark.parametrize("how", HOW)
def test_other_changes_are_found(ledger, tmp_path, how):
    first, second = ledger.folder(1), ledger.folder(2)
    path = second / "rows-00000.parquet"
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    elif how == "emptied":
        path.write_bytes(b"")
    elif how == "gone":
        path.unlink()
    elif how == "swapped":
        first.rename(ledger.path / "x")
        second.rename(first)
        (ledger.path / "x").rename(second)
    elif how == "put in between":
        ledger.folder(3).rename(ledger.folder(4))
        shutil.copytree(first, ledger.folder(3))
    elif how == "taken out":
        shutil.rmtree(second)
    elif how == "respelled":
        (second / ENTRY).write_bytes((second / ENTRY).read_bytes().replace(b":", b": ", 1))
    elif how == "of another log":
        other = Ledger(tmp_path / "other")
        for run in ("a", "b"):
            other.append(entry(run), [segment(tmp_path)])
        shutil.rmtree(second)
        shutil.copytree(other.folder(2), second)
    else:
        (second / "more.parquet").write_bytes(path.read_bytes())
    found = ledger.verify()
    assert found
    assert how != "taken out" or "Expected entry 2" in found[0]


def test_an_entry_under_another_number_is_found(ledger, tmp_path):
    other = Ledger(tmp_path / "other")
    other.path.mkdir()
    shutil.copytree(ledger.folder(2), other.folder(1))
    assert "Expected entry 1" in other.verify()[0]


def test_an_entry_of_a_newer_format_asks_for_an_upgrade(tmp_path):
    ledger = Ledger(tmp_path / "decisions")
    ledger.append(entry("new", format=2), [segment(tmp_path)])
    with pytest.raises(LedgerError, match="Upgrade realloc"):
        list(ledger.entries())


def test_an_entry_that_nobody_could_read_is_not_added(ledger, tmp_path, monkeypatch):
    longest = len((ledger.folder(3) / ENTRY).read_bytes())
    monkeypatch.setattr(module, "LONGEST", longest + 50)
    with pytest.raises(LedgerError, match="Expected at most"):
        ledger.append(entry("long", settings={"x": "y" * 200}), [segment(tmp_path)])
    assert ledger.numbers() == [1, 2, 3]
    assert os.listdir(ledger.path / TMP) == []
    assert ledger.append(entry("short"), [segment(tmp_path)]).number == 4
    monkeypatch.setattr(module, "LONGEST", longest - 1)
    with pytest.raises(LedgerError, match="it was changed"):
        list(ledger.entries())


def test_an_empty_log_is_said(tmp_path):
    with pytest.raises(LedgerError, match="there are none yet"):
        Ledger(tmp_path / "decisions").dataset()


def test_only_what_belongs_to_nobody_is_forgotten(ledger, tmp_path):
    for name in ("old", "young"):
        (ledger.path / TMP / name).mkdir()
    os.utime(ledger.path / TMP / "old", (0, 0))
    ledger.append(entry("new"), [segment(tmp_path)])
    assert os.listdir(ledger.path / TMP) == ["young"]


def test_what_a_killed_run_left_is_no_hindrance_to_the_same_run(ledger, tmp_path):
    (ledger.path / TMP / "new.1").mkdir()
    (ledger.path / TMP / "new.1" / ENTRY).write_text("half")
    assert ledger.append(entry("new"), [segment(tmp_path)]).number == 4
    assert os.listdir(ledger.path / TMP) == []
    assert ledger.verify() == ()


def test_a_number_that_somebody_else_took_is_left_to_them(ledger, tmp_path, monkeypatch):
    real, tried, part = Ledger._following, [], segment(tmp_path)

    def late(self, *asked):
        found = real(self, *asked)
        tried.append(found.number)
        if len(tried) == 1:
            ledger.append(entry("faster"), [part])
        return found

    monkeypatch.setattr(Ledger, "_following", late)
    assert ledger.append(entry("slower"), [part]).number == 5
    assert tried == [4, 4, 5]
    assert ledger.verify() == ()


def test_an_entry_is_on_the_disk_before_it_has_its_name_and_so_is_the_name(
    ledger, tmp_path
):
    seen = []

    def around(name, call, *arguments):
        seen.append((name, *(str(path) for path in arguments if isinstance(path, Path))))
        return call(*arguments)

    part = segment(tmp_path)
    with recording.replaced(around):
        ledger.append(entry("new"), [part])
    named = next(
        i for i, one in enumerate(seen) if one[::2] == ("rename", str(ledger.folder(4)))
    )
    work = seen[named][1]
    assert Path(work).parent == ledger.path / TMP
    assert seen[named - 1] == ("sync_folder", work)
    assert ("write_new_file", f"{work}/{ENTRY}") in seen[: named - 1]
    assert seen[named + 1] == ("sync_folder", str(ledger.path))


def test_a_changed_segment_is_not_read(ledger):
    path = ledger.folder(2) / "rows-00000.parquet"
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(LedgerError, match="rows-00000.parquet"):
        list(ledger.read(ledger.find("run-1")))


@pytest.mark.parametrize(
    ("problem", "after", "torn"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), False, True),
        (OSError(errno.EROFS, "Read-only file system"), False, False),
        (Stopped(), False, True),
        (Stopped(), True, False),
    ],
)
def test_a_failure_at_any_operation_adds_the_entry_or_nothing(
    ledger, tmp_path, problem, after, torn
):
    part, hits = segment(tmp_path), []
    for n in range(1, 50):
        other = Ledger(tmp_path / str(n) / "decisions")
        shutil.copytree(ledger.path, other.path)
        with stopping(n, problem, after, torn) as seen:
            try:
                other.append(entry("new"), [part])
                failed = None
            except (LedgerError, Stopped) as found:
                failed = found
        if seen["hit"] is None:
            break
        hits.append(seen["hit"])
        assert other.verify() == ()
        there = other.find("new") is not None
        assert there or failed is not None
        if isinstance(failed, LedgerError):
            assert problem.strerror in str(failed)
            assert not (other.path / TMP).exists() or os.listdir(other.path / TMP) == []
        if not there:
            other.append(entry("new"), [part])
        assert other.numbers() == [1, 2, 3, 4]
        assert os.listdir(other.path / TMP) == []
    assert set(hits) == {"write_new_file", "make_folder", "rename", "sync_folder"}


def test_many_writers_of_one_run_add_one_entry(tmp_path):
    part = segment(tmp_path)
    for n in range(20):
        ledger = Ledger(tmp_path / f"decisions-{n}")
        entries = map(entry, ["one", "one", "other", "one"])
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(ledger.append, entries, [[part]] * 4))
        assert len({one.number for one in made if one.run == "one"}) == 1
        assert ledger.numbers() == [1, 2]
        assert ledger.verify() == ()
        assert os.listdir(ledger.path / TMP) == []


def test_many_writers_at_once_each_get_a_number_of_their_own(tmp_path):
    ledger, part = Ledger(tmp_path / "decisions"), segment(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: ledger.append(entry(f"run-{n}"), [part]), range(40)))
    assert sorted(one.number for one in made) == list(range(1, 41))
    assert ledger.verify() == ()


def test_control_a_rename_over_an_empty_folder_would_lose_an_entry(tmp_path):
    """Why two writers cannot take one number: a folder that holds an entry is never replaced by
    a rename.
    """
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    os.rename(tmp_path / "a", tmp_path / "b")  # this is possible
    (tmp_path / "a").mkdir()
    (tmp_path / "b" / "entry.json").write_text("1")
    with pytest.raises(OSError, match="not empty"):
        os.rename(tmp_path / "a", tmp_path / "b")


def test_a_clock_that_goes_back_does_not_turn_the_order(ledger, tmp_path):
    made = ledger.append(
        entry("late", made="2020-01-01T00:00:00+00:00"), [segment(tmp_path)]
    )
    assert made.made == "2026-11-16T12:00:00+00:00"
