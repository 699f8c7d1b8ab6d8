"""`realloc publish`: what is refused."""

from realloc.storage.store import Store
from tests.small import fitted, today, window


def test_a_folder_that_is_no_store_is_refused(run, tmp_path):
    words = ("--store", tmp_path / "none", "--out", tmp_path / "a.csv")
    assert "but there is no folder" in run("publish", *words, code=2).stderr


def test_a_run_that_nobody_reviewed_is_not_published(run, tmp_path):
    Store(tmp_path / "store").commit(fitted(), window())
    today().to_parquet(tmp_path / "today.parquet")
    words = ("--store", "store", "--out")
    run(
        "recommend",
        "today.parquet",
        *words,
        "recs.parquet",
        "--beyond-limits",
        cwd=tmp_path,
    )
    done = run("publish", *words, "approved.parquet", cwd=tmp_path, code=2)
    assert "Expected approved rows in run" in done.stderr
    assert not (tmp_path / "approved.parquet").exists()
