"""The examples of README and docs run: Python as written, commands against the command line."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

import realloc
from realloc.cli.main import app
from realloc.storage.store import Store
from tests.small import CONFIG, fitted, schema_of, window

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
COMMANDS = typer.main.get_command(app).commands
README = (ROOT / "README.md").read_text(encoding="utf-8")

# What `realloc init` leaves out: sizes at which a fit takes a fraction of a second.
SMALL = """
[nuisances]
folds = 3
models = ["ridge"]
[teacher]
members = 2
few_rows = 0
[kernel]
inducing = 60
steps = 10
rows = 120
[network]
least_steps = 0
epochs = 2
width = 16
trunk = 8
[factual]
least_steps = 0
epochs = 2
width = 16
[student]
least_steps = 0
epochs = 2
width = 16
trunk = 8
"""


def blocks(page: Path, *languages: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [body for language, body in BLOCK.findall(text) if language in languages]


def commands(page: Path) -> list[str]:
    """Lines of shell blocks that call `realloc`, without prompt, comment and continuation."""
    lines = "\n".join(blocks(page, "", "sh")).replace("\\\n", " ").splitlines()
    calls = (line.strip().removeprefix("$ ") for line in lines)
    return [re.sub(r"\s+#.*", "", call) for call in calls if call.startswith("realloc ")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder as the pages assume it: logs, today's rows, a store, small models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(realloc, "Config", lambda **changes: replace(CONFIG, **changes))
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    return tmp_path


def given(folder: Path) -> dict:
    """Names that a page may use without making them: a fitted model, its schema, rows, a store."""
    model = fitted()
    logs = window()
    table = window(1).to_arrow()
    pq.write_table(table, folder / "last_week.parquet")
    pq.write_table(table.drop_columns(["orders"]), folder / "today.parquet")
    store = Store(folder / "store")
    with store.writer():
        store.commit(model, logs)
    return {
        "model": model,
        "schema": schema_of(logs),
        "today": table.drop_columns(["orders"]),
        "window": window(2),
        "frame": table,
    }


def run(call: str) -> None:
    result = CliRunner().invoke(app, shlex.split(call)[1:], catch_exceptions=False)
    assert result.exit_code == 0, (call, result.output)


PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.mark.parametrize("page", PYTHON, ids=[page.stem for page in PYTHON])
def test_the_python_of_the_page_runs(page, folder, capsys):
    names = {} if page.name == "README.md" else given(folder)
    if page.stem == "batch":  # its example reads the decisions of a run
        run("realloc recommend today.parquet --store store --out recs.parquet --jobs 1")
    for number, block in enumerate(blocks(page, "python"), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)  # noqa: S102
    if page.name == "README.md":
        assert "reason" in capsys.readouterr().out


CALLS = [(page, call) for page in PAGES for call in commands(page)]


@pytest.mark.parametrize(("page", "call"), CALLS, ids=[f"{p.stem}: {c}" for p, c in CALLS])
def test_every_command_exists_with_its_options(page, call):
    _, verb, *words = shlex.split(call.replace("[", " ").replace("]", " ").split(" | ")[0])
    assert verb in COMMANDS, f"{page.name}: {call}"
    known = {option for parameter in COMMANDS[verb].params for option in parameter.opts}
    used = {word.split("=")[0] for word in words if word.startswith("--")}
    assert used <= known, f"{page.name}: {call}"


def test_the_shell_of_the_readme_runs(folder):
    calls = commands(ROOT / "README.md")
    assert [shlex.split(call)[1] for call in calls][-1] == "recommend"
    for call in calls:
        run(call)
        if call.startswith("realloc init"):
            with (folder / "realloc.toml").open("a") as config:
                config.write(SMALL)
    assert pq.read_table(folder / "recs.parquet").num_rows == 20


def test_the_two_commands_stand_at_the_top_and_ci_calls_the_second():
    assert re.search(r"^make demo .*\nmake test ", README[:700], re.M)
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("\nmake test")


def test_the_readme_is_short_and_carries_few_numbers():
    assert len(README.splitlines()) <= 130
    numbers = re.findall(r"(?<![\w.])[+\-−]?\d*\.?\d+", README)
    words = re.findall(r"[A-Za-z][\w'-]*", README)
    assert 100 * len(numbers) / len(words) <= 4


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_link_to_a_file_leads_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not re.match(r"\w+:", target):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_page_cites_only_what_is_in_the_repository(page):
    text = page.read_text(encoding="utf-8")
    for word in (r"\bissues? \d", r"\.\./shared", r"\b(?!CONTRIB|CHANGE|README)[A-Z]{5,}\.md\b"):
        found = re.search(word, text)
        assert not found, f"{page.name}: {found}"


SCRIPTS = re.compile(r"\bpython (?:-m )?((?:experiments|benchmarks|docs)[\w./]*)")


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_script_and_make_target_that_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    for script in SCRIPTS.findall(text):
        path = script if script.endswith(".py") else script.replace(".", "/") + ".py"
        assert (ROOT / path).exists(), f"{page.name}: {script}"
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for target in re.findall(r"`make ([\w-]+)", text) + re.findall(r"^make ([\w-]+)", text, re.M):
        assert target in targets, f"{page.name}: make {target}"
