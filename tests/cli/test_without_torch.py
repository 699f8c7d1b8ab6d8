"""Deciding needs no torch: `recommend` and `serve` run where it cannot be imported."""

import os
import subprocess
import sys

import pandas as pd
import pytest

from tests.serve.http.asking import MAIN, call, make_store, real_server, some_rows
from tests.small import CHANNELS, today, updated

BLOCKED = ("torch", "lightgbm", "scipy.stats")  # only learning needs them
BLOCK = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in {BLOCKED!r}:
            raise ImportError(f"{{name}} is blocked by this test")

sys.meta_path.insert(0, Blocked())
"""
SHARES = [f"share_{name}" for name in CHANNELS]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("without_torch") / "store").path


@pytest.fixture
def environment(tmp_path):
    """Every Python process started with it, workers too, cannot import what is blocked."""
    folder = tmp_path / "blocked"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCK)
    path = os.pathsep.join([str(folder), *sys.path])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("name", BLOCKED)
def test_control_what_is_blocked_cannot_be_imported(environment, name):
    command = [sys.executable, "-c", f"import {name}"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert f"{name} is blocked by this test" in done.stderr


def test_recommend_runs_and_answers_as_the_library_does(environment, store, tmp_path):
    today().to_parquet(tmp_path / "today.parquet")
    options = [
        "--store",
        store,
        "--out",
        tmp_path / "recs.parquet",
        "--jobs",
        "2",
        "--beyond-limits",
    ]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "recommend", tmp_path / "today.parquet", *options],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answer = pd.read_parquet(tmp_path / "recs.parquet")
    expected = updated().recommend(today())
    assert answer["reason"].tolist() == expected["reason"].tolist()
    assert abs(answer[SHARES].to_numpy() - expected[SHARES].to_numpy()).max() <= 1e-9
    assert answer["moved"].any()


def test_serve_starts_and_answers(environment, store):
    with real_server(store, environment=environment) as (port, _, log):
        answer = call(port, "/v1/recommend", {"rows": some_rows(1)})
        assert answer.status == 200, log.read_text()
        assert abs(sum(answer.json["answers"][0]["shares"].values()) - 1) <= 1e-9
        assert call(port, "/readyz").status == 200
