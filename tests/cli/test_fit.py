"""`realloc fit` and `realloc update`, as a user types them."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import realloc
from realloc.cli.fit import open_store
from realloc.cli.main import main
from realloc.storage.store import Store
from realloc.world import WorldParameters
from tests.storage.store.light import snapshot

REALLOC = Path(sys.executable).with_name("realloc")
TOML = """
[schema]
unit = "item_id"
time = "date"
outcome = "orders"
channels = ["ads", "coupon", "rebate"]
budget = "budget"
[nuisances]
folds = 3
models = ["ridge"]
[teacher]
members = 2
[kernel]
inducing = 60
steps = 10
rows = 120
[network]
epochs = 2
width = 16
trunk = 8
least_steps = 0
[factual]
epochs = 2
width = 16
least_steps = 0
[student]
epochs = 2
width = 16
trunk = 8
least_steps = 0
"""


def run(*words):
    return subprocess.run(
        [REALLOC, *map(str, words)], check=False, capture_output=True, text=True
    )


@pytest.fixture
def here(capsys, monkeypatch):
    """The same without a process of its own, which would load torch again each time."""

    def run_here(*words):
        monkeypatch.setattr(sys, "argv", ["realloc", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(words, ended.value.code or 0, out, err)

    return run_here


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("fit")
    world = realloc.World(
        "medium", seed=5, parameters=replace(WorldParameters(), noise=0.3)
    )
    for number in (0, 1):
        table = world.sample(units=60, periods=5, seed=number).to_arrow()
        pq.write_table(table, out / f"window{number}.parquet")
    (out / "realloc.toml").write_text(TOML)
    return out


def test_fit_then_update_keep_versions_in_the_store_and_the_same_window_changes_nothing(
    folder,
):
    store = folder / "store"
    first = run(
        "fit",
        folder / "window0.parquet",
        "--config",
        folder / "realloc.toml",
        "--store",
        store,
        "--seed",
        3,
    )
    assert first.returncode == 0, first.stderr
    assert "Learned from 300 rows of 60 units (round 1)." in first.stdout
    assert "Today it would move" in first.stdout
    assert "Weights of the teacher's surfaces" not in first.stdout  # only with --details
    lines = first.stderr.splitlines()  # nobody watches: lines instead of bars
    assert all(re.fullmatch(r" *(\d+\.\d s|\d:\d\d:\d\d)  .+", line) for line in lines)
    second = run(
        "update", folder / "window1.parquet", "--store", store, "--churn", "--quiet"
    )
    assert second.returncode == 0, second.stderr
    assert "Round 2" in second.stdout
    assert "A refit with another seed differs by" in second.stdout
    model = open_store(store)
    assert model.config.seed == 3
    assert model.fitted.rounds == 2
    assert np.isfinite(model.field(folder / "window1.parquet")).all()
    before = snapshot(store)
    same = run("update", folder / "window1.parquet", "--store", store)
    assert same.returncode == 0, same.stderr
    assert "already applied" in same.stdout
    assert snapshot(store) == before


def test_details_and_json_hold_the_technical_part(folder, here):
    words = ("fit", folder / "window0.parquet", "--config", folder / "realloc.toml")
    store = ("--store", folder / "details")
    shown = here(*words, *store, "--details").stdout
    assert "Weights of the teacher's surfaces" in shown
    assert "Out-of-fold squared error of the outcome" in shown
    assert "The memory holds 300 rows of 1 round." in shown
    told = json.loads(here(*words, *store, "--again", "--json").stdout)
    assert told["version"] == 2
    assert told["known"]["rows"] == 300
    assert told["today"]["rows"] == 60
    assert told["details"]["nuisances"]["folds"] == 3
    assert told["details"]["memory"] == 300
    again = here("update", folder / "window0.parquet", *store, "--json")
    assert json.loads(again.stdout) == {"already_applied": True}


def test_what_cannot_be_done_is_said_in_a_sentence_and_nothing_is_lost(folder, here):
    store = folder / "kept"
    config, logs = folder / "realloc.toml", folder / "window0.parquet"
    assert here("fit", logs, "--config", config, "--store", store).returncode == 0
    before = snapshot(store)
    again = run("fit", logs, "--config", config, "--store", store)
    assert again.returncode == 2
    assert "Expected a store without a model" in again.stderr
    few = folder / "few.parquet"
    pq.write_table(pq.read_table(folder / "window1.parquet").slice(0, 45), few)
    small = here("update", few, "--store", store)
    assert small.returncode == 2
    assert "Expected at least 50 rows" in small.stderr
    part = folder / "part.parquet"
    pq.write_table(pq.read_table(logs).slice(0, 200), part)
    twice = here("update", part, "--store", store)
    assert twice.returncode == 2
    assert "--allow-overlap" in twice.stderr
    assert snapshot(store) == before
    nowhere = here("update", logs, "--store", folder / "nowhere")
    assert nowhere.returncode == 2
    assert "`realloc fit` makes one" in nowhere.stderr
    assert "Traceback" not in again.stderr + small.stderr + nowhere.stderr
    assert (
        here(
            "fit", logs, "--config", config, "--store", store, "--again", "--seed", 9
        ).returncode
        == 0
    )
    assert open_store(store).config.seed == 9
    assert Store(store).rollback().restores == 1
    assert open_store(store).config.seed == 0
