"""Many processes, one folder, one commit: the output of one run, whole or not there."""

import errno
import json
import os
import random
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from realloc.base.errors import ConfigError, LogError, PublishError, UnfinishedError
from realloc.base.place import Folder
from realloc.batch import Options, Shard, commit_shards, plan, recommend_shard
from realloc.batch.checkpoint import WORK
from realloc.batch.manifest import MANIFEST, REFUSED, read_manifest
from realloc.batch.shard import name_spans
from realloc.decide.constraints.constraints import Constraints
from realloc.model.config import Config
from realloc.model.publish_limits import PublishLimits
from realloc.storage.store import Store
from tests.batch.conftest import NOW, answers, assert_same_answers, recommend, rows
from tests.batch.test_checkpoint import watch_scores
from tests.batch.test_faults import entries, fork, start_and_kill
from tests.small import CONFIG

OUT = "recs"


def shard(place, number, count=3, **options):
    given = {"chunk_rows": 16, "clock": lambda: NOW} | options
    source = str(place / "today.parquet")
    wanted = Shard(number, count)
    return recommend_shard(source, place / "store", place / OUT, wanted, Options(**given))


def commit(place, **options):
    given = {"chunk_rows": 16, "clock": lambda: NOW} | options
    source = str(place / "today.parquet")
    return commit_shards(source, place / "store", place / OUT, Options(**given))


def parts(place) -> pd.DataFrame:
    """The output as a reader of the manifest sees it."""
    manifest = read_manifest(Folder(place / OUT))
    assert manifest is not None
    tables = [pq.read_table(place / OUT / file.name) for file in manifest.files]
    assert [table.num_rows for table in tables] == [file.rows for file in manifest.files]
    return pd.concat([table.to_pandas() for table in tables], ignore_index=True)


def part_files(place):
    return sorted((place / OUT).glob("*/part-*.parquet"))


@pytest.mark.parametrize("count", [1, 3, 50])
def test_shards_and_a_commit_are_one_run(place, count):
    whole = recommend(place).summary
    for number in reversed(range(count)):
        shard(place, number, count)
    done = commit(place)
    assert_same_answers(parts(place), answers(place))
    assert done.summary.figures()["reasons"] == whole.reasons
    assert done.summary.gain == pytest.approx(whole.gain)
    assert entries(place) == 2
    assert {*os.listdir(place / OUT)} == {part_files(place)[0].parent.name, MANIFEST}


def test_only_the_first_shard_reads_all_rows(place, monkeypatch):
    scans, real = [], plan.scan
    monkeypatch.setattr(plan, "scan", lambda *asked: scans.append(1) or real(*asked))
    for number in range(3):
        shard(place, number)
    commit(place)
    assert scans == [1]


def test_a_shard_finds_its_finished_parts(place, monkeypatch):
    shard(place, 1)
    asked = watch_scores(monkeypatch)
    assert len(shard(place, 1).chunks) == 3
    assert asked == []


def test_a_commit_says_which_parts_are_missing_and_keeps_the_others(place):
    shard(place, 1)
    with pytest.raises(UnfinishedError, match=r"7 of 10 parts are missing .*\(0–2, 6–9\)"):
        commit(place)
    assert not (place / OUT / MANIFEST).exists()
    assert entries(place) == 0
    for number in range(3):
        shard(place, number)
    assert commit(place).summary.rows == 150


@pytest.mark.parametrize("kind", ["part", "record", "log"])
@pytest.mark.parametrize("how", ["flipped", "cut", "gone"])
def test_a_damaged_part_is_said_and_made_again(place, kind, how):
    for number in range(3):
        shard(place, number)
    pattern = {"part": "*/part-00004-*", "record": f"{WORK}/*/00004.json"}
    (path,) = (place / OUT).glob(pattern.get(kind, f"{WORK}/*/00004-*.parquet"))
    content = bytearray(path.read_bytes())
    if how == "flipped":
        content[len(content) // 2] ^= 1
    path.write_bytes(content if how == "flipped" else content[:100])
    if how == "gone":
        path.unlink()
    with pytest.raises(UnfinishedError, match=r"1 of 10 parts .*\(4\)"):
        commit(place)
    shard(place, 1)
    commit(place)
    recommend(place)
    assert_same_answers(parts(place), answers(place))


def test_the_same_commit_again_changes_nothing(place):
    shard(place, 0, 1)
    first = commit(place).manifest
    again = commit(place)
    assert again.summary is None
    assert again.manifest.files == first.files
    assert entries(place) == 1
    assert sorted(os.listdir(place / OUT)) == sorted(
        [MANIFEST, first.files[0].name.partition("/")[0]]
    )


def test_a_commit_whose_plan_is_tidied_away_begins_again(place, monkeypatch):
    shard(place, 0, 1)
    create = Folder.create
    tidied = []

    def create_late(self, name, content):
        if "plan" in name and not tidied:
            tidied.append(name)
            raise FileNotFoundError(errno.ENOENT, "tidied up", name)
        return create(self, name, content)

    for found in (place / OUT / WORK).glob("plan*"):
        found.unlink()
    monkeypatch.setattr(Folder, "create", create_late)
    assert commit(place).manifest.files
    assert tidied


def test_of_many_commits_at_once_one_is_logged_and_all_agree(place):
    shard(place, 0, 1)
    for race in range(20):
        folder = place.parent / f"race-{race}"
        shutil.copytree(place, folder)
        done = []
        draw = random.Random(race)
        delays = [draw.uniform(0, 0.02) for _ in range(3)]

        def run(delay, folder=folder, done=done):
            time.sleep(delay)
            done.append(commit(folder).manifest.files)

        threads = [threading.Thread(target=run, args=(delay,)) for delay in delays]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(done) == 3
        assert done[0] == done[1] == done[2]
        assert entries(folder) == 1
        assert len(parts(folder)) == 150
        shutil.rmtree(folder)


def test_shards_that_are_killed_and_begun_again_end_as_if_nothing_was(place):
    recommend(place)
    draw = random.Random(1)
    begun = time.perf_counter()
    assert fork(lambda: shard(place, 0, 1) and 0) == 0
    took = time.perf_counter() - begun
    shutil.rmtree(place / OUT)
    killed = found = 0
    for _ in range(20):
        killed += start_and_kill(lambda: shard(place, 0, 1), draw.uniform(0, took))
        there = len(part_files(place))
        found = max(found, there)
        if there == 10:
            shutil.rmtree(place / OUT)
    assert killed >= 6
    assert found
    assert fork(lambda: shard(place, 0, 1) and 0) == 0
    for _ in range(10):
        start_and_kill(lambda: commit(place), draw.uniform(0, took / 2))
        if (place / OUT / MANIFEST).exists():
            assert len(parts(place)) == 150
    commit(place)
    assert_same_answers(parts(place), answers(place))
    assert entries(place) == 2
    assert len(part_files(place)) == 10


def test_two_processes_may_finish_the_same_parts_at_once(place):
    threads = [threading.Thread(target=shard, args=(place, 0, 1)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    commit(place)
    recommend(place)
    assert_same_answers(parts(place), answers(place))
    assert len(part_files(place)) == 10


def test_a_new_input_replaces_the_output_and_its_parts(place):
    shard(place, 0, 1)
    commit(place)
    old = part_files(place)
    rows(40).to_parquet(place / "today.parquet")
    shard(place, 0, 1)
    assert len(parts(place)) == 150  # until the commit
    commit(place)
    assert len(parts(place)) == 40
    assert not any(path.exists() for path in old)


def test_publish_limits_hold(place):
    strict = replace(CONFIG, publish=PublishLimits(max_action_rate=0.0))
    shard(place, 0, 1, config=strict)
    with pytest.raises(PublishError, match=REFUSED):
        commit(place, config=strict)
    assert not (place / OUT / MANIFEST).exists()
    refused = json.loads((place / OUT / REFUSED).read_bytes())
    assert len(refused["files"]) == 10
    assert commit(place, config=strict, force=True).summary.forced


def test_a_store_that_is_frozen_meanwhile_publishes_nothing_that_moves(place):
    shard(place, 0, 1)
    Store(place / "store").freeze("odd prices")
    with pytest.raises(UnfinishedError, match="10 of 10 parts are missing"):
        commit(place)
    shard(place, 0, 1)
    commit(place)
    assert set(parts(place).reason) == {"frozen"}


def test_rows_that_repeat_a_key_in_another_shard_are_not_moved(place):
    given = rows()
    pd.concat([given, given.iloc[[3]]]).to_parquet(place / "today.parquet")
    for number in range(3):
        shard(place, number)
    commit(place)
    found = parts(place)
    assert found.index[found.reason == "bad_input"].tolist() == [3, 150]


def test_an_input_that_changes_between_shards_is_another_job(place):
    shard(place, 1)
    rows(100).to_parquet(place / "today.parquet")
    shard(place, 2)
    with pytest.raises(UnfinishedError):
        commit(place)


CAPS = {
    "pool": lambda free: {"pools": {"coupon": free.spend_coupon.sum() - 0.05}},
    "day": lambda free: {
        "config": Config(
            decision=CONFIG.decision, constraints=Constraints(largest_move_per_day=0.02)
        )
    },
}


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("second_pass", [False, True])
def test_caps_over_all_rows_hold_over_all_shards(place, cap, second_pass):
    recommend(place)
    options = CAPS[cap](answers(place))
    recommend(place, "capped.parquet", chunk_rows=16, **options)
    offered = [shard(place, number, **options).offered for number in range(3)]
    assert offered == [True, True, False]  # the last one finds all offers
    if second_pass:
        assert not any(shard(place, number, **options).offered for number in (0, 1))
    commit(place, **options)
    assert_same_answers(parts(place), answers(place, "capped.parquet"))
    assert parts(place).spend_coupon.tolist() != answers(place).spend_coupon.tolist()


def test_caps_wait_for_the_offers_of_all_shards(place):
    options = {"pools": {"coupon": 1e9}}
    shard(place, 1, **options)
    with pytest.raises(UnfinishedError, match="offers"):
        commit(place, **options)


@pytest.mark.parametrize("damaged", ["menu-00004-*", "options.npz"])
def test_damaged_offers_are_made_again(place, damaged):
    options = {"pools": {"coupon": rows()[["coupon"]].to_numpy().sum()}}
    recommend(place, "capped.parquet", chunk_rows=16, **options)
    for number in range(3):
        shard(place, number, **options)
    (path,) = (place / OUT / WORK).glob(f"*/{damaged}")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    commit(place, **options)
    assert_same_answers(parts(place), answers(place, "capped.parquet"))


@pytest.mark.parametrize(("number", "count"), [(4, 3), (0, 0)])
def test_shards_that_do_not_exist_are_refused(number, count):
    with pytest.raises(ConfigError, match="i/n"):
        Shard(number, count)


@pytest.mark.parametrize("chunks", [0, 1, 7, 100])
def test_shards_share_all_chunks_whether_counted_from_0_or_from_1(chunks):
    for numbers in (range(8), range(1, 9)):
        shared = [chunk for number in numbers for chunk in Shard(number, 8).of(chunks)]
        assert sorted(shared) == list(range(chunks))


def test_a_file_is_no_folder_for_parts(place):
    with pytest.raises(ConfigError, match="folder"):
        recommend_shard(
            str(place / "today.parquet"),
            place / "store",
            Path("recs.parquet"),
            Shard(0, 1),
        )


def test_an_input_that_cannot_be_read_is_named(place):
    content = bytearray((place / "today.parquet").read_bytes())
    content[200:400] = bytes(200)
    (place / "today.parquet").write_bytes(content)
    with pytest.raises(LogError, match=r"today\.parquet"):
        shard(place, 0)


def test_many_spans_are_shortened():
    assert name_spans(list(range(0, 40, 2))) == "0, 2, 4, 6, 8, 10, 12, 14, …"
