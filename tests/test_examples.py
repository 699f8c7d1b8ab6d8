"""The README's Python runs as written."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_python_of_the_readme_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102
    assert "reason" in capsys.readouterr().out


def test_the_two_commands_stand_at_the_top_and_ci_calls_the_second():
    assert re.search(r"^make demo .*\nmake test ", README[:600], re.M)
    assert (Path(__file__).parents[1] / ".ci" / "run").read_text().rstrip().endswith("\nmake test")
