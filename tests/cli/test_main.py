"""The commands as a user types them: what they print, what they write, and their exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from realloc.cli.main import app

REALLOC = Path(sys.executable).with_name("realloc")


def test_version_and_help(run):
    assert run("--version").stdout.startswith("realloc 0.")
    assert "simulate" in run("--help").stdout
    assert "Exit code 2" in run("check", "--help").stdout


def test_help_lists_every_command_with_its_first_sentence(run):
    lines = run("--help").stdout.split("Commands:")[1].split("\n")
    listed = dict(line.strip().split(maxsplit=1) for line in lines if line.strip())
    commands = typer.main.get_group(app).commands
    assert list(listed) == list(commands)
    for name, command in commands.items():
        whole = " ".join(command.help.split())
        assert whole.startswith(listed[name].removesuffix(" …"))


def test_help_imports_no_library_but_the_parser():
    code = (
        "import sys; from realloc.cli.main import app\n"
        "try: app(['--help'])\n"
        "finally: print([m for m in ('numpy', 'pyarrow', 'torch', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["check", "absent.parquet"], "nothing is at 'absent.parquet'"),
        (["check", "logs.csv", "--config", "absent.toml"], "there is none"),
        (["init", "absent.csv"], "nothing is at"),
        (["init", "bad.csv"], "a column of dates"),
        (["check", "cut.parquet"], "whole Parquet file"),
        (["simulate", "--out", "x.parquet", "--regime", "harder"], "harder"),
        (["simulate", "--out", "x.txt"], "to end in .parquet or .csv"),
        (["simulate", "--out", "x.parquet", "--channels", "1"], "channels"),
        (["frobnicate"], "No such command"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(run, tmp_path, log, arguments, text):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and then nothing")
    before = sorted(tmp_path.iterdir())
    done = run(*arguments, cwd=tmp_path, code=2)
    assert text in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_the_installed_command_is_the_same_one(tmp_path):
    done = subprocess.run(
        [REALLOC, "check", "absent.csv"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("realloc: Expected a Parquet, CSV or Excel file")
    assert done.stderr.count("\n") == 1


def test_an_unexpected_failure_is_exit_code_1_and_says_how_to_report(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the sky fell")

    monkeypatch.setattr("realloc.cli.check.load", broken)
    monkeypatch.setattr("realloc.cli.check.guess_schema", lambda *_: None)
    assert (
        "unexpected RuntimeError: the sky fell. Run again with REALLOC_DEBUG=1"
        in run("check", "x.csv", code=1).stderr
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("realloc re", {"recommend", "report"}),
        ("realloc recommend --ou", {"--out"}),
        ("realloc --ver", {"--version"}),
    ],
)
def test_a_shell_completes_commands_and_options(words, expected):
    done = subprocess.run(
        [REALLOC],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ
        | {
            "_REALLOC_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        },
    )
    assert set(done.stdout.split()) == expected


def test_completing_a_command_imports_none_of_them():
    code = (
        "import sys; from realloc.cli.lazy import LazyGroup\n"
        "items = LazyGroup(name='realloc').shell_complete(None, 're')\n"
        "print([item.value for item in items], 'realloc.cli.recommend' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['recommend', 'report'] False\n"


def test_the_script_that_teaches_a_shell_can_be_printed(run, monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    assert "complete" in run("--show-completion", "bash").stdout
