"""Two writers at once: one wins, the other is told at once and changes nothing."""

import contextlib
import multiprocessing
import time

import pytest

from realloc.base.errors import StoreError
from realloc.storage.store import store as store_module
from realloc.storage.store.head import read_head
from tests.storage.store.light import LightStore, grown

RACES = 5


class SlowStore(LightStore):
    """Is not done before the other one was told, or a while has passed: so both are in the
    middle of it.
    """

    def __init__(self, path, told, longest):
        super().__init__(path)
        self.told, self.longest = told, longest

    def _gate(self, folder, expected):
        self.told.wait(self.longest)
        return super()._gate(folder, expected)


def write(path, start, said, told, longest):
    start.wait()
    try:
        said.put(f"version {SlowStore(path, told, longest).step().number}")
    except (StoreError, OSError) as problem:
        said.put(str(problem))
        told.set()


def race(path, longest=30.0):
    """What each of two writers says who start at the same moment."""
    context = multiprocessing.get_context("fork")
    start, said, told = context.Barrier(2), context.Queue(), context.Event()
    writers = [
        context.Process(target=write, args=(path, start, said, told, longest))
        for _ in range(2)
    ]
    for writer in writers:
        writer.start()
    answers = sorted(said.get(timeout=60) for _ in writers)
    for writer in writers:
        writer.join()
    return answers


def test_one_writer_wins_and_the_other_is_told(tmp_path):
    for n in range(RACES):
        store = grown(tmp_path / str(n), n % 2)
        loser, winner = race(store.path)
        assert winner == f"version {n % 2 + 1}"
        assert "another process is writing" in loser
        assert LightStore(store.path).number() == n % 2 + 1


def test_control_without_the_lock_both_would_write(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "locked", lambda *_: contextlib.nullcontext())
    store = grown(tmp_path / "store", 1)
    answers = race(store.path, longest=0.3)
    assert not any("another process is writing" in answer for answer in answers)


def test_a_lock_ends_with_its_process(tmp_path):
    store = grown(tmp_path / "store", 1)
    context = multiprocessing.get_context("fork")
    inside = context.Event()

    def hold():
        with LightStore(store.path).writer():
            inside.set()
            time.sleep(60)

    holder = context.Process(target=hold)
    holder.start()
    assert inside.wait(timeout=60)
    assert store.busy
    with pytest.raises(StoreError, match="another process is writing"):
        store.step()
    holder.kill()
    holder.join()
    assert not store.busy
    assert store.step().number == 2


def read_while(path, done, said):
    """Look at the store again and again; what went wrong, and how many versions were seen."""
    store, seen, wrong = LightStore(path), set(), []
    while not done.is_set():
        try:
            seen.add(store.current().number)
        except StoreError as problem:
            wrong.append(str(problem))
    said.put((sorted(wrong), len(seen)))


def count_wrong(path, commits):
    """Commit, keeping as little as may be, while somebody reads."""
    store = grown(path, 1)
    context = multiprocessing.get_context("fork")
    done, said = context.Event(), context.Queue()
    reader = context.Process(target=read_while, args=(path, done, said))
    reader.start()
    for _ in range(commits):
        store.step()
    done.set()
    found = said.get(timeout=60)
    reader.join()
    return found


def test_readers_see_whole_versions_while_others_are_removed(tmp_path):
    wrong, seen = count_wrong(tmp_path / "store", 60)
    assert wrong == []
    assert seen > 1


def test_control_a_reader_that_looks_once_meets_what_is_gone(tmp_path, monkeypatch):
    store = grown(tmp_path / "store", 1)
    heads = [read_head(store.path)] * 3
    for _ in range(3):
        store.step()
    monkeypatch.setattr(store, "_pointer", lambda: heads[0])
    with pytest.raises(StoreError, match="cannot be used"):
        store.current()
    monkeypatch.undo()
    monkeypatch.setattr(store, "_heads", lambda: iter([heads[0], read_head(store.path)]))
    assert store.current().number == 4
