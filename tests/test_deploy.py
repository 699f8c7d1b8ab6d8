"""What deploy/ names exists: commands, options, metrics, files; and its jobs run."""

import ast
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pyarrow.parquet as pq
import pytest
import typer
import yaml

from realloc.base.validation import from_table
from realloc.cli.main import app
from realloc.decide.types import REASONS
from realloc.model.config import read_toml
from realloc.serve.http.app import DECISIONS
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.metrics import Metrics
from realloc.storage.store import Store
from tests.small import fitted, window

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
COMMANDS = typer.main.get_group(app).commands
YAML = sorted([*DEPLOY.rglob("*.yml"), *DEPLOY.rglob("*.yaml")])
FILES = sorted(
    path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".pyc"
)
DAY = "2025-01-06"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def calls() -> list[tuple[str, list[str]]]:
    """Every call of `realloc` in the kit: verb and words."""
    found = []
    for line in (DEPLOY / "daily.sh").read_text().splitlines():
        if line.startswith("realloc "):
            found.append(shlex.split(line, comments=True)[1:])
    for path in YAML:
        for document in yaml.safe_load_all(path.read_text()):
            found += [words for words in lists(document) if words[0] in COMMANDS]
    for name in ("airflow_dag.py", "dagster_assets.py"):
        for node in ast.walk(ast.parse((DEPLOY / name).read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "realloc":
                words = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
                found.append([str(word) for word in words])
    return [(words[0], words[1:]) for words in found]


def lists(value: object) -> list[list[str]]:
    """Every list of texts in parsed YAML."""
    items = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(items, list):
        return []
    nested = [found for item in items for found in lists(item)]
    is_words = isinstance(value, list) and value and all(isinstance(i, str) for i in value)
    return [*nested, value] if is_words else nested


@pytest.mark.parametrize(("verb", "words"), calls(), ids=lambda value: str(value)[:40])
def test_every_command_and_option_exists(verb, words):
    known = {option for parameter in COMMANDS[verb].params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_every_way_to_run_the_day_is_covered():
    verbs = [verb for verb, _ in calls()]
    assert verbs.count("update") == verbs.count("recommend") == 3
    assert verbs.count("serve") == 2


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_the_file_is_yaml(path):
    assert all(yaml.safe_load_all(path.read_text()))


def test_metrics_routes_and_reasons_are_those_of_the_service():
    metrics = Metrics()
    metrics.requests.labels("/v1/recommend", 200).inc()
    metrics.answers.labels("moved").inc()
    metrics.seconds.labels("/v1/recommend").observe(1.0)
    metrics.refused_connections.labels("busy").inc()
    known = set(re.findall(r"^(realloc_\w+)", metrics.text().decode(), re.M))
    named = set()
    for path in FILES:
        text = path.read_text()
        if path.suffix in (".yml", ".json"):
            named |= set(re.findall(r"\b(realloc_\w+)", text))
        assert set(re.findall(r'route=\\?"([^"\\]+)', text)) <= set(DECISIONS), path
        assert set(re.findall(r'reason=\\?"([^"\\]+)', text)) <= set(REASONS), path
    assert named - {"realloc_daily"} <= known
    assert len(named) >= 14


def test_the_dashboard_is_what_its_script_writes_and_names_its_source_by_a_variable():
    text = (DEPLOY / "grafana" / "realloc.json").read_text()
    assert text == load(DEPLOY / "grafana" / "make_dashboard.py").make_dashboard()
    dashboard = json.loads(text)
    assert dashboard["templating"]["list"][0]["type"] == "datasource"
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {"${source}"}


@pytest.mark.skipif(not shutil.which("promtool"), reason="apt install prometheus")
def test_promtool_accepts_the_rules_and_their_tests():
    folder = DEPLOY / "prometheus"
    for words in (["check", "rules", "rules.yml"], ["test", "rules", "rules_test.yml"]):
        subprocess.run(["promtool", *words], cwd=folder, check=True, capture_output=True)


def test_what_the_image_copies_is_there():
    text = (DEPLOY / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.M):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists(), name
    assert "USER 10001" in text


def test_the_settings_of_the_service_are_accepted_and_the_same_everywhere():
    settings = read_toml(DEPLOY / "serve.toml")["serve"]
    config = from_table(ServeConfig, settings, "deploy/serve.toml")
    assert not config.record
    parts = yaml.safe_load_all((DEPLOY / "kubernetes" / "service.yaml").read_text())
    given = next(part for part in parts if part["kind"] == "ConfigMap")["data"]
    assert tomllib.loads(given["serve.toml"])["serve"] == settings


def test_every_file_is_listed():
    page = (DEPLOY / "README.md").read_text()
    for path in DEPLOY.iterdir():
        if path.suffix in (".py", ".sh", ".yml", ".toml") and path.stem != "health":
            assert path.name in page, path.name


# ---------------------------------------------------------------- the jobs run


@pytest.fixture
def day(tmp_path, monkeypatch):
    """A store, and a folder with the files of one day."""
    model = fitted()
    store = Store(tmp_path / "store")
    with store.writer():
        store.commit(model, window())
    folder = tmp_path / DAY
    folder.mkdir()
    rows = window(1).to_pandas()
    rows["date"] = rows["date"] + (rows["date"].max() - rows["date"].min()) * 1.25
    rows.to_parquet(folder / "window.parquet")
    rows.drop(columns="orders").groupby("item_id").tail(1).to_parquet(
        folder / "today.parquet"
    )
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    monkeypatch.setenv("REALLOC_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("REALLOC_FILES", str(tmp_path))
    return tmp_path


def check_day(place: Path) -> None:
    assert Store(place / "store").current().number == 2
    assert pq.read_table(place / DAY / "recs.parquet").num_rows == 60


@pytest.mark.slow
def test_the_day_runs_twice_as_a_script_and_learns_once(day):
    files = [
        day / DAY / name for name in ("window.parquet", "today.parquet", "recs.parquet")
    ]
    for _ in range(2):
        subprocess.run(["sh", DEPLOY / "daily.sh", day / "store", *files], check=True)
    check_day(day)


@pytest.mark.slow
def test_an_alarm_stops_the_day_before_anything_is_published(day):
    today = day / DAY / "today.parquet"
    rows = pq.read_table(today).to_pandas()
    rows["c1"] += 100.0
    rows.to_parquet(today)
    files = [day / DAY / "window.parquet", today, day / DAY / "recs.parquet"]
    done = subprocess.run(["sh", DEPLOY / "daily.sh", day / "store", *files], check=False)
    assert done.returncode == 2
    assert not files[2].exists()


class Chain:
    """What a task call returns: `a >> b` runs nothing more."""

    def __rshift__(self, other):
        return other


@pytest.mark.slow
def test_the_tasks_of_the_dag_run_in_its_order(day, monkeypatch):
    order = []

    def task(*bare, **_):
        def wrap(body):
            def call(*given):
                order.append((body, given))
                return Chain()

            return call

        return wrap(bare[0]) if bare else wrap

    def dag(**settings):
        assert settings["max_active_runs"] == 1  # a store has one writer
        return lambda body: body

    monkeypatch.setitem(sys.modules, "airflow", ModuleType("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.sdk", SimpleNamespace(dag=dag, task=task))
    load(DEPLOY / "airflow_dag.py")
    assert [body.__name__ for body, _ in order] == ["update", "monitor", "recommend"]
    for body, _ in order:
        body(DAY)
    check_day(day)


@pytest.mark.slow
def test_the_assets_run_one_after_the_other(day, monkeypatch):
    dagster = SimpleNamespace(
        AssetExecutionContext=object,
        DailyPartitionsDefinition=lambda start_date: start_date,
        asset=lambda **_: lambda body: body,
    )
    monkeypatch.setitem(sys.modules, "dagster", dagster)
    assets = load(DEPLOY / "dagster_assets.py")
    context = SimpleNamespace(partition_key=DAY)
    assets.model_version(context)
    assets.recommendations(context)
    check_day(day)


@pytest.mark.slow
def test_the_health_check_follows_the_service(day):
    health = [sys.executable, DEPLOY / "health.py"]
    main = "from realloc.cli.main import main; main()"
    command = [sys.executable, "-c", main, "serve", "--store", day / "store"]
    command += ["--port", "0", "--config", DEPLOY / "serve.toml"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr
        line = next(line for line in service.stderr if "http://" in line)
        port = re.search(r":(\d+) ", line)
        assert port
        subprocess.run([*health, port[1]], check=True)
        service.terminate()
    assert not (day / "store" / "decisions").exists()  # a read-only store is not written to
    assert (
        subprocess.run([*health, port[1]], check=False, capture_output=True).returncode == 1
    )
