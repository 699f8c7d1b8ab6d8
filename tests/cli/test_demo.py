"""`realloc demo`: the whole loop on built-in data."""

import re
import shlex

import pyarrow.parquet as pq


def test_the_demo_runs_ends_with_a_page_and_its_next_commands_work(run, tmp_path):
    done = run("demo", "--out", "demo", "--units", 60, cwd=tmp_path)
    assert "Ready to learn from" in done.stdout
    assert "True gains" in done.stdout
    assert "best first step" in done.stdout
    answers = pq.read_table(tmp_path / "demo" / "recommendations.parquet")
    assert answers.num_rows == 500
    page = re.search(r"The report (\S+): open it", done.stdout)[1]
    assert "<h2>Biggest moves</h2>" in (tmp_path / page).read_text()
    commands = re.findall(r"^  realloc (.*)$", done.stdout, re.M)
    assert len(commands) == 3
    for command in commands:
        run(*shlex.split(command, comments=True), cwd=tmp_path)
    again = run("demo", "--out", "demo", "--units", 60, cwd=tmp_path, code=2)
    assert "exists already" in again.stderr
