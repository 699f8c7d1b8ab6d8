"""`realloc report`, and `--report` of `recommend`."""

from realloc.storage.store import Store
from tests.small import fitted, today, window


def test_a_run_and_its_store_become_a_page(run, tmp_path):
    Store(tmp_path / "store").commit(fitted(), window())
    today().to_parquet(tmp_path / "today.parquet")
    words = (
        "today.parquet",
        "--store",
        "store",
        "--out",
        "recs.parquet",
        "--beyond-limits",
    )
    run("recommend", *words, "--report", "run.html", cwd=tmp_path)
    done = run("report", "--store", "store", cwd=tmp_path)
    assert done.stdout.startswith("Report → report.html, ")
    page = (tmp_path / "report.html").read_text()
    assert page == (tmp_path / "run.html").read_text()
    assert "<h2>Biggest moves</h2>" in page
    run("report", "--store", "store", "--against", 1, "--out", "two.html", cwd=tmp_path)
    assert "Rows with another mix" in (tmp_path / "two.html").read_text()


def test_a_folder_that_is_no_store_is_refused(run, tmp_path):
    done = run("report", "--store", tmp_path / "none", code=2)
    assert "but there is no folder. `realloc fit` makes one." in done.stderr
