"""Every script in examples/ runs from top to bottom, with small models and few units."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import realloc
from tests.small import CONFIG

FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
MOST_UNITS = 90


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty working folder; models made in it are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(realloc, "Config", lambda **changes: replace(CONFIG, **changes))
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    return tmp_path


def shrink(text: str) -> str:
    return re.sub(r"^UNITS = \d+", f"UNITS = {MOST_UNITS}", text, flags=re.M)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_the_script_runs(script, place, capsys):
    names = {"__name__": "__main__"}
    exec(compile(shrink(script.read_text()), script.name, "exec"), names)  # noqa: S102
    said = capsys.readouterr().out
    assert said
    if script.stem == "launch":
        assert (names["launch"], names["do_not"]) == ("launch", "do not launch")
    if script.stem == "service":
        assert '"reason"' in said
    if script.stem == "weeks":
        assert "0 rows move while the store is frozen" in said
        assert "Every checksum matches." in said


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_the_script_is_a_notebook_too(script):
    text = script.read_text()
    assert text.count("\n# %% ") >= 4
    assert re.search(r"^UNITS = \d+$", text, re.M)


def test_the_list_names_every_script():
    listed = re.findall(r"^\| \[(\w+)\.py\]", (FOLDER / "README.md").read_text(), re.M)
    assert sorted(listed) == [script.stem for script in SCRIPTS]
