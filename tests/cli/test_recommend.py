"""`realloc recommend`, as a user types it."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from realloc import load as open_model
from realloc.storage.store import Store
from tests.small import fitted, today, window

REALLOC = Path(sys.executable).with_name("realloc")


def run(*words):
    return subprocess.run(
        [REALLOC, *map(str, words)], check=False, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("recommend")
    Store(out / "store").commit(fitted(), window())
    today().to_parquet(out / "today.parquet")
    (out / "rules.toml").write_text(
        '[schema]\nunit = "item_id"\ntime = "date"\noutcome = "orders"\nchannels = ["ads", '
        '"coupon", "rebate"]\n'
        '[decision]\nbeta = 0.0\nmin_significance = 0.0\n[constraints]\nfrozen = ["rebate"]\n'
        "[publish]\nmax_drift = 9.0\n"
    )
    return out


def test_answers_are_those_of_the_model_and_the_summary_counts_them(folder):
    done = run(
        "recommend",
        folder / "today.parquet",
        "--store",
        folder / "store",
        "--out",
        folder / "recs.parquet",
        "--beyond-limits",  # 40 rows of eight units lie apart from the training window
    )
    assert done.returncode == 0, done.stderr
    found = pq.read_table(folder / "recs.parquet").to_pandas()
    model = next((folder / "store").glob("versions/00000001-*")) / "model"
    expected = open_model(model).recommend(today())
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert f"40 rows, {int(expected.moved.sum())} moved" in done.stdout
    for reason, count in expected.reason.value_counts().items():
        assert any(
            line.split()[:2] == [reason, str(count)] for line in done.stdout.splitlines()
        )


def test_rules_of_another_file_and_pools_hold(folder):
    words = [
        "recommend",
        folder / "today.parquet",
        "--store",
        folder / "store",
        "--config",
        folder / "rules.toml",
    ]
    free = run(*words, "--out", folder / "free.csv")
    assert free.returncode == 0, free.stderr
    answers, given = pd.read_csv(folder / "free.csv"), today()
    assert answers.moved.any()
    assert answers.share_rebate.to_numpy() == pytest.approx(
        given.rebate.to_numpy(), abs=1e-12
    )
    cap = round(float(answers.spend_coupon.sum()) - 0.1, 2)
    done = run(*words, "--out", folder / "pool.csv", "--pool", f"coupon={cap}")
    assert done.returncode == 0, done.stderr
    assert round(pd.read_csv(folder / "pool.csv").spend_coupon.sum(), 2) <= cap


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--out", "recs.txt"),
            "Expected `--out` to end in .parquet or .csv, or the name of a folder",
        ),
        (("--out", "recs.csv", "--pool", "coupon"), "Expected `--pool` as channel=money"),
        (
            ("--out", "recs.csv", "--pool", "cupon=5"),
            "Unknown channel 'cupon' in the pools. Did you mean 'coupon'?",
        ),
        (("--out", "recs.csv", "--pool", "coupon=0"), "the least"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence_and_nothing_is_written(
    folder, words, told
):
    before, words = (
        sorted(folder.iterdir()),
        [folder / word if "recs" in word else word for word in words],
    )
    done = run("recommend", folder / "today.parquet", "--store", folder / "store", *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(folder.iterdir()) == before


def test_a_store_without_a_model_says_how_to_make_one(folder, tmp_path):
    done = run(
        "recommend",
        folder / "today.parquet",
        "--store",
        tmp_path / "none",
        "--out",
        tmp_path / "recs.csv",
    )
    assert done.returncode == 2
    assert "`realloc fit` makes one" in done.stderr


def test_a_frozen_store_keeps_every_mix(tmp_path):
    store = Store(tmp_path / "store")
    store.commit(fitted(), window())
    store.freeze("prices look odd")
    today().to_parquet(tmp_path / "today.parquet")
    done = run(
        "recommend",
        tmp_path / "today.parquet",
        "--store",
        store.path,
        "--out",
        tmp_path / "recs.parquet",
    )
    assert done.returncode == 0, done.stderr
    assert "prices look odd" in done.stdout
    found = pq.read_table(tmp_path / "recs.parquet").to_pandas()
    assert set(found.reason) == {"frozen"}
    assert found.share_ads.to_numpy() == pytest.approx(today().ads.to_numpy(), abs=1e-12)


def test_shards_and_a_commit_write_one_folder(folder):
    words = ("recommend", folder / "today.parquet", "--store", folder / "store")
    words = (*words, "--out", folder / "parts", "--beyond-limits", "--quiet")
    early = run(*words, "--commit")
    assert (early.returncode, early.stdout) == (1, "")
    assert "1 of 1 parts are missing" in early.stderr
    for number in (1, 2):
        assert run(*words, "--shard", f"{number}/2").stdout.startswith(
            f"Shard {number}/2: "
        )
    assert "40 rows" in run(*words, "--commit").stdout
    assert "already committed" in run(*words, "--commit").stdout
    both = run(*words, "--commit", "--shard", "1/2")
    assert (both.returncode, "either" in both.stderr) == (2, True)
    odd = run(*words, "--shard", "one")
    assert (odd.returncode, "such as 3/8" in odd.stderr) == (2, True)
