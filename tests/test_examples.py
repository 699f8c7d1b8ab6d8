"""The examples of README and docs run as written, with small models and few units."""

import re
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

import realloc
from realloc.base.validation import from_table
from realloc.cli.main import app
from realloc.evaluate.report import ReportConfig
from realloc.storage.store import Store
from tests.small import CONFIG, fitted, schema_of, window

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "skills").rglob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
COMMANDS = typer.main.get_group(app).commands
MOST_UNITS = 200  # of a simulation

# Appended to what `realloc init` writes: sizes at which a fit takes a fraction of a second.
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
[support]
members = 4
[publish]
max_drift = 2.0
"""


def blocks(page: Path, *languages: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [body for language, body in BLOCK.findall(text) if language in languages]


def commands(block: str) -> list[str]:
    """Lines that call `realloc`, without prompt and comment; of alternatives, the first."""
    lines = (line.strip().removeprefix("$ ") for line in block.splitlines())
    calls = [re.sub(r"\s+#.*", "", line) for line in lines if line.startswith("realloc ")]
    return [re.sub(r" \| [^\]]*\]", "]", call) for call in calls]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder; models made in it are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(realloc, "Config", lambda **changes: replace(CONFIG, **changes))
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    return tmp_path


def run(call: str, codes: tuple[int, ...] = (0,)) -> None:
    result = CliRunner().invoke(app, shlex.split(call)[1:], catch_exceptions=False)
    assert result.exit_code in codes, (call, result.output)


# ---------------------------------------------------------------- Python


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


PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.mark.slow
@pytest.mark.parametrize("page", PYTHON, ids=[page.stem for page in PYTHON])
def test_the_python_of_the_page_runs(page, folder, capsys):
    names = {} if page.name == "README.md" else given(folder)
    if page.stem == "batch":  # its example reads the decisions of a run
        run("realloc recommend today.parquet --store store --out recs.parquet --jobs 1")
    for number, block in enumerate(blocks(page, "python"), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)  # noqa: S102
    if page.name == "README.md":
        assert "reason" in capsys.readouterr().out


# ---------------------------------------------------------------- shell


SHELL = [
    (page, number, commands(block))
    for page in PAGES
    for number, block in enumerate(blocks(page, "", "sh"), start=1)
    if commands(block)
]
NAMES = [f"{page.stem} {number}" for page, number, _ in SHELL]


@pytest.mark.parametrize(("page", "number", "calls"), SHELL, ids=NAMES)
def test_every_command_exists_with_its_options(page, number, calls):
    for call in calls:
        _, verb, *words = shlex.split(call.replace("[", " ").replace("]", " "))
        assert verb in COMMANDS, f"{page.name}: {call}"
        known = {option for parameter in COMMANDS[verb].params for option in parameter.opts}
        used = {word.split("=")[0] for word in words if word.startswith("--")}
        assert used <= known, f"{page.name}: {call}"


@pytest.mark.slow
@pytest.mark.parametrize(("page", "number", "calls"), SHELL, ids=NAMES)
def test_the_commands_of_the_block_run(page, number, calls, folder):
    prepare(folder, {shlex.split(call)[1] for call in calls})
    for call in calls:
        verb = shlex.split(call)[1]
        if verb not in (
            "serve",
            "console",
        ):  # run until stopped; their own tests start them
            run(shrink(call), codes=(0, 2) if verb == "monitor" else (0,))
        if verb == "init":
            with (folder / "realloc.toml").open("a") as config:
                config.write(SMALL)
    if page.name == "README.md":
        assert pq.read_table(folder / "recs.parquet").num_rows == 20


def shrink(call: str) -> str:
    """The command with its optional parts, placeholders filled in, and few units to simulate."""
    call = re.sub(r"[\[\]]", "", call)
    call = call.replace("--to VERSION", "--to 1").replace("--version N", "--version 1")
    call = call.replace("--out DIR", "--out copy")
    if " simulate " in call:
        call = re.sub(
            r"--units (\d+)",
            lambda units: f"--units {min(int(units[1]), MOST_UNITS)}",
            call,
        )
    return call


def prepare(folder: Path, verbs: set[str]) -> None:
    """What a block takes for granted: files it does not simulate and a store it does not fit."""
    if "simulate" in verbs:
        return
    world = realloc.World(regime="medium", seed=5)
    logs = world.sample(units=60, periods=5)
    later = world.sample(units=60, periods=1, seed=1, first_day="2025-01-06")
    pq.write_table(logs.to_arrow(), folder / "logs.parquet")
    pq.write_table(later.to_arrow(), folder / "window.parquet")
    today = world.sample(units=60, periods=1, seed=2, first_day="2025-01-07").to_arrow()
    pq.write_table(today.drop_columns(["orders"]), folder / "today.parquet")
    if "abtest" in verbs:
        (folder / "realloc.toml").write_text(blocks(ROOT / "docs" / "abtest.md", "toml")[0])
        pq.write_table(arms(), folder / "arms.parquet")
        pq.write_table(arms(), folder / "before.parquet")
    elif "init" not in verbs:
        run("realloc init logs.parquet")
        with (folder / "realloc.toml").open("a") as config:
            config.write(SMALL)
    if not verbs & {"abtest", "fit", "init"}:
        run("realloc fit logs.parquet --config realloc.toml --store store")
        run("realloc update window.parquet --store store")
        run("realloc recommend today.parquet --store store --out earlier.parquet --jobs 1")


def arms() -> pa.Table:
    """A test with the columns that the config of docs/abtest.md names."""
    random = np.random.default_rng(1)
    n = 2000
    treated = random.random(n) < 0.1
    before = {name: random.normal(10, 2, n) for name in ("orders", "gmv", "cost")}
    during = {name: values + random.normal(0, 1, n) for name, values in before.items()}
    return pa.table(
        {
            "item_id": np.arange(n),
            "date": np.full(n, "2026-01-05"),
            "arm": np.where(treated, "realloc", "additive_roi"),
            **during,
            **{f"{name}_before": values for name, values in before.items()},
            "profit": 0.1 * during["gmv"] + random.normal(0, 0.1, n),
            "gain": random.gamma(2.0, 0.1, n),
            "gain_lower": random.normal(0, 0.1, n),
        }
    )


def test_the_config_of_the_evaluation_page_is_accepted():
    table = tomllib.loads(blocks(ROOT / "docs" / "evaluate.md", "toml")[0])
    config = from_table(ReportConfig, table["report"], "docs/evaluate.md")
    assert config.randomized == "exploration"
