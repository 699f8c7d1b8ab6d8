"""`realloc demo`: the whole loop on built-in data."""

import pyarrow.parquet as pq


def test_the_demo_runs_end_to_end(run, tmp_path):
    done = run("demo", "--out", tmp_path / "demo", "--units", 60)
    assert "Ready to learn from" in done.stdout
    assert "True gains" in done.stdout
    assert "best first step" in done.stdout
    answers = pq.read_table(tmp_path / "demo" / "recommendations.parquet")
    assert answers.num_rows == 500
