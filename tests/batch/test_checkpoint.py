"""Finished chunks: used again only if whole and of the same run; one run for one output."""

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest

from realloc import ReAlloc
from realloc.base.errors import StoreError
from realloc.base.place import Folder
from realloc.batch import job
from realloc.batch.checkpoint import LOCK, RUN, Checkpoint, only_run, work_folder
from realloc.decide.constraints.constraints import Constraints
from realloc.model.config import Config
from realloc.storage.ledger import Ledger
from realloc.storage.ledger.rows import Run
from realloc.storage.store import Store
from tests.batch.conftest import NOW, recommend, rows
from tests.batch.test_faults import Stopped, entries
from tests.small import CONFIG, fitted, window


def stop_in_the_middle(place, done=64):
    def stop(step, found, total):
        if found >= done:
            raise Stopped

    with pytest.raises(Stopped):
        recommend(place, progress=stop)


def watch_scores(monkeypatch):
    """The numbers of chunks that are decided from now on."""
    real, asked = job.score, []

    def score(task, *rest):
        asked.append(task.chunk.number)
        return real(task, *rest)

    monkeypatch.setattr(job, "score", score)
    return asked


def logged(place):
    ledger = Ledger(place / "store" / "decisions")
    return [
        row
        for entry in ledger.entries()
        for table in ledger.read(entry)
        for row in table.to_pylist()
    ]


def test_finished_parts_are_not_decided_again(place, monkeypatch):
    asked = watch_scores(monkeypatch)

    def stop(step, done, total):
        if done >= 64:
            raise Stopped

    with pytest.raises(Stopped):
        recommend(place, progress=stop)
    assert asked == [0, 1]
    recommend(place)
    assert asked == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["arrow", "parquet", "json"])
def test_a_finished_part_that_was_changed_is_decided_again(place, kind):
    def stop(step, done, total):
        if done >= 64:
            raise Stopped

    with pytest.raises(Stopped):
        recommend(place, progress=stop)
    part = next(place.glob(f".recs.parquet.work/*/00001*.{kind}"))
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(bytes(content))
    recommend(place)
    recommend(place, "plain.parquet")
    assert (place / "recs.parquet").read_bytes() == (place / "plain.parquet").read_bytes()
    assert entries(place) == 2
    found = [
        {k: v for k, v in row.items() if k not in ("run", "made")} for row in logged(place)
    ]
    assert found[:150] == found[150:]


def test_any_flipped_bit_of_a_finished_part_is_noticed(place):
    stop_in_the_middle(place, 32)
    part = next(place.glob(".recs.parquet.work/*/00000.json"))
    run = Run(json.loads((part.parent / RUN).read_text())["id"], NOW, 1)
    work = Checkpoint(Folder(part.parents[1]), part.parent.name, "", "arrow", run)
    content, unnoticed = part.read_bytes(), []
    whole = work.find(0)
    for n in range(len(content)):
        part.write_bytes(content[:n] + bytes([content[n] ^ 1 << n % 8]) + content[n + 1 :])
        if work.find(0) not in (None, whole):
            unnoticed.append(n)
    assert whole is not None
    assert unnoticed == []


def test_parts_of_another_input_or_other_rules_are_not_used(place):
    stop_in_the_middle(place)
    rules: Config = Config(
        decision=CONFIG.decision,
        constraints=Constraints(frozen=("ads", "coupon", "rebate")),
    )
    told = recommend(place, config=rules).summary.to_json()
    assert told["moved"] == 0


@pytest.mark.parametrize("what", ["input", "version", "model", "chunk_rows", "realloc"])
def test_parts_of_anything_else_are_not_used_either(place, tmp_path, monkeypatch, what):
    stop_in_the_middle(place)
    options = {}
    if what == "input":
        rows().iloc[::-1].to_parquet(place / "today.parquet")
    elif what == "version":
        Store(place / "store").commit(fitted(), window(1), again=True)
    elif what == "model":
        shutil.rmtree(place / "store")
        Store(place / "store", clock=lambda: NOW).commit(
            ReAlloc(CONFIG, quiet=True).fit(window(1)), window(1)
        )
    elif what == "chunk_rows":
        options = {"chunk_rows": 40}
    else:
        monkeypatch.setattr(job, "__version__", "another")
    decided = watch_scores(monkeypatch)
    recommend(place, **options)
    assert decided == list(range(4 if options else 5))
    assert list(place.glob(".*")) == []  # and they are gone
    assert {row["version"] for row in logged(place)} == {2 if what == "version" else 1}


def test_parts_without_the_run_they_belong_to_are_not_used(place):
    stop_in_the_middle(place)
    next(place.glob(".recs.parquet.work/*/run.json")).unlink()
    told = recommend(place).summary.to_json()
    assert {row["run"] for row in logged(place)} == {told["run"]}


def test_a_lock_that_was_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    out, real_lock, real_open, hits = tmp_path / "recs.parquet", fcntl.flock, os.open, []

    def lock(*asked):
        real_lock(*asked)
        if not hits.count("lock"):  # whoever had it before has just removed the folder
            hits.append("lock")
            shutil.rmtree(work_folder(out))

    def open_lock(path, *asked, **how):
        if not hits.count("open") and Path(path).name == LOCK:
            hits.append("open")
            shutil.rmtree(work_folder(out))
        return real_open(path, *asked, **how)

    monkeypatch.setattr(fcntl, "flock", lock)
    monkeypatch.setattr(os, "open", open_lock)
    with only_run(out) as folder:
        assert (folder / LOCK).exists()
    assert hits == ["open", "lock"]


def test_of_two_runs_to_one_output_the_second_is_told(place):
    def second(step, done, total):
        with pytest.raises(StoreError, match="another one is writing it"):
            recommend(place)

    recommend(place, progress=second)
    recommend(place)  # and once it is done, there is room again
