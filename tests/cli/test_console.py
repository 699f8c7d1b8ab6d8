"""Where text goes: results to stdout, messages to stderr, and nothing else where nobody watches."""

import json

from rich.table import Table

from realloc.cli.console import busy, print_error, print_json, progress_bar, stdout


def test_tables_are_wide_and_without_padding_where_nobody_watches(capsys):
    console = stdout()
    assert console.width == 120
    table = Table("channel", "share")
    table.add_row("ads", "0.3")
    table.add_row("a much longer name", "0.7")
    console.print(table)
    lines = capsys.readouterr().out.split("\n")
    assert any("a much longer name" in line for line in lines)
    assert all(line == line.rstrip() for line in lines)


def test_json_is_readable_and_keeps_its_letters(capsys):
    print_json({"unit": "Käse", "gain": 0.5})
    out = capsys.readouterr().out
    assert "Käse" in out
    assert json.loads(out) == {"unit": "Käse", "gain": 0.5}


def test_errors_go_to_stderr_after_the_programs_name(capsys):
    print_error("Expected a store.")
    said = capsys.readouterr()
    assert said.err == "realloc: Expected a store.\n"
    assert said.out == ""


def test_progress_is_silent_where_nobody_watches(capsys):
    with busy("Comparing"), progress_bar("Reading") as advance:
        advance(1, None)
        advance(1, 2)
    said = capsys.readouterr()
    assert said.out + said.err == ""
