"""Batches from file to file: the model's own answers, whatever the cut, the processes and the
kind of file.
"""

import json
import subprocess
import sys

import pandas as pd
import pytest

from realloc.base.errors import ConfigError, LogError, StoreError
from realloc.batch import recommend_file
from realloc.batch.chunks import fingerprint_files
from realloc.logs.reading.source import open_source
from realloc.storage.ledger import Ledger
from realloc.storage.store import Store
from realloc.storage.store import store as opening
from tests.batch.conftest import answers, assert_same_answers, recommend, rows, served
from tests.small import student_of


def test_answers_are_those_of_the_model_in_the_order_of_the_rows(place):
    recommend(place)
    assert_same_answers(answers(place), served(place).recommend(rows()))


@pytest.mark.parametrize("chunk_rows", [1, 7, 64, 10_000])
def test_the_size_of_chunks_changes_no_answer(place, chunk_rows):
    recommend(place)
    recommend(place, "other.parquet", chunk_rows=chunk_rows)
    assert_same_answers(answers(place), answers(place, "other.parquet"))


def test_control_a_difference_beyond_1e_9_is_noticed(place):
    recommend(place)
    other = answers(place)
    other.loc[3, "gain"] += 1e-7
    with pytest.raises(AssertionError):
        assert_same_answers(answers(place), other)


def test_csv_in_and_out_says_the_same(place):
    recommend(place)
    rows().to_csv(place / "today.csv", index=False)
    recommend(place, "recs.csv", source=place / "today.csv")
    one, other = answers(place), pd.read_csv(place / "recs.csv", keep_default_na=False)
    assert one.reason.tolist() == other.reason.tolist()
    assert other.share_ads.to_numpy() == pytest.approx(one.share_ads.to_numpy(), abs=1e-9)
    assert other.item_id.tolist() == one.item_id.tolist()


def test_keys_that_merely_share_a_hash_are_no_duplicates(place, monkeypatch):
    import builtins

    from realloc.batch import keys

    monkeypatch.setattr(keys, "hash", lambda _: 7, raising=False)
    assert builtins.hash("a") != 7
    told = recommend(place).summary.to_json()
    assert told["duplicates"] == 0


def test_figures_add_up_to_the_answers(place):
    told, found = recommend(place).summary.to_json(), answers(place)
    given = rows()
    money = found[["spend_ads", "spend_coupon", "spend_rebate"]].sum().sum()
    assert told["money"] == pytest.approx(money, abs=0.01)
    assert told["moved"] == found.moved.sum()
    assert told["reasons"] == found.reason.value_counts().to_dict()
    budget = found[["spend_ads", "spend_coupon", "spend_rebate"]].sum(axis=1)
    assert told["moved_money"] == pytest.approx(
        (found.moved_share * budget).sum(), abs=0.01
    )
    assert sum(told["moved_by_pair"].values()) == pytest.approx(
        told["moved_money"], abs=0.02
    )
    assert told["gain"] == pytest.approx(found.gain.sum())
    assert len(found) == len(given) == told["rows"]
    assert (place / "recs.summary.json").read_text() == (
        json.dumps(told, indent=2, ensure_ascii=False) + "\n"
    )


@pytest.mark.parametrize(
    "when",
    ["while parts are decided", "right before publishing", "right after it was logged"],
)
def test_a_freeze_during_the_run_is_obeyed(place, monkeypatch, when):
    from realloc.batch import run

    store = Store(place / "store")
    if when.startswith("while"):
        recommend(place, progress=lambda step, done, total: done and store.freeze("now"))
    else:
        name = "write_beside" if when.endswith("publishing") else "log_run"
        real = getattr(run, name)
        monkeypatch.setattr(run, name, lambda *a: (real(*a), store.freeze("now"))[0])
        recommend(place)
    assert set(answers(place).reason) == {"frozen"}
    assert len(Ledger(place / "store" / "decisions").numbers()) == 1 + when.endswith(
        "logged"
    )


def test_force_does_not_thaw(place):
    Store(place / "store").freeze("a test")
    recommend(place, force=True)
    assert set(answers(place).reason) == {"frozen"}


def test_an_input_that_changes_meanwhile_is_refused(place):
    def replace_it(step, done, total):
        if done:
            rows(100).to_parquet(place / "today.parquet")

    with pytest.raises(LogError, match="was replaced while it was read"):
        recommend(place, progress=replace_it)
    assert not (place / "recs.parquet").exists()


def test_what_cannot_be_done_is_said(place):
    with pytest.raises(ConfigError, match=r"Expected `--out` to end in .parquet or .csv"):
        recommend(place, "recs.txt")
    with pytest.raises(ConfigError, match="is the input itself"):
        recommend(place, "today.parquet")
    with pytest.raises(LogError, match="Expected files to recommend for, got a frame"):
        recommend_file(rows(), place / "store", place / "recs.parquet")
    with pytest.raises(LogError, match="nothing is at"):
        recommend(place, source=place / "none.parquet")
    with pytest.raises(StoreError, match="`realloc fit` makes one"):
        recommend_file(
            str(place / "today.parquet"), place / "nowhere", place / "new" / "recs.parquet"
        )
    rows().drop(columns="ads").to_parquet(place / "short.parquet")
    with pytest.raises(LogError, match="ads"):
        recommend(place, source=place / "short.parquet")
    with pytest.raises(ConfigError, match="tv"):
        recommend(place, pools={"tv": 1.0})
    assert sorted(path.name for path in place.iterdir()) == [
        "short.parquet",
        "store",
        "today.parquet",
    ]


def test_a_version_with_strangers_is_not_asked(place):
    (next((place / "store" / "versions").iterdir()) / "x.pkl").touch()
    with pytest.raises(StoreError, match="x.pkl"):
        recommend(place)


def test_a_model_that_computes_something_else_is_not_asked(place, monkeypatch):
    recommend(place)
    real = opening.open_saved

    def other(saved):
        model = real(saved)
        student_of(model).directions[:] *= 1.5
        return model

    monkeypatch.setattr(opening, "open_saved", other)
    with pytest.raises(
        StoreError, match="does not decide as the one that wrote the version did"
    ):
        recommend(place, "other.parquet")


def test_files_that_do_not_fit_together_or_are_gone_are_named(place):
    rows(10).to_parquet(place / "a.parquet")
    rows(10).assign(c1="red").to_parquet(place / "b.parquet")
    with pytest.raises(LogError, match="c1|one type per column"):
        recommend_file(
            [str(place / "a.parquet"), str(place / "b.parquet")],
            place / "store",
            place / "recs.parquet",
        )
    source = open_source(str(place / "a.parquet"))
    (place / "a.parquet").unlink()
    with pytest.raises(LogError, match="Cannot read .*a.parquet"):
        fingerprint_files(source)


def test_a_batch_loads_no_torch(place):
    code = (
        "import sys; from pathlib import Path; from realloc.batch import Options, "
        "recommend_file; place = Path(sys.argv[1]);"
        "recommend_file(str(place / 'today.parquet'), place / 'store', place / 'recs.parquet', "
        "Options());"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
