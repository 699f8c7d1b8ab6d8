"""The site: every page in its place, opened by its question, and generated pages that are whole."""

import importlib.util
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import typer
import yaml

import realloc
from realloc.cli.main import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NEW = sorted(
    [DOCS / name for name in ("agent.md", "compare.md", "faq.md", "index.md")]
    + [
        page
        for folder in ("start", "how-to", "explain")
        for page in (DOCS / folder).iterdir()
    ]
)
NOT_IN_NAV = {
    "CONTRIBUTING.md"
}  # linked where they are needed; so are decisions and results


def load():
    spec = importlib.util.spec_from_file_location("make_site", DOCS / "make_site.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SITE = load()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    SITE.put_together(folder)
    return folder


def navigation() -> list[str]:
    def targets(entry) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        inside = entry.values() if isinstance(entry, dict) else entry
        return [target for part in inside for target in targets(part)]

    return targets(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])


def test_the_navigation_names_every_page_once(pages):
    listed = navigation()
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert (pages / name).exists(), name
    aside = ("decisions", "experiments", "benchmarks", "build")
    there = {page.relative_to(pages).as_posix() for page in pages.rglob("*.md")}
    own = {name for name in there if not name.startswith(aside)}
    assert own - NOT_IN_NAV == set(listed)


def test_every_link_of_the_site_stays_inside_it(pages):
    for page in pages.rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if not re.match(r"\w+:", target):
                found = (page.parent / target).resolve()
                assert found.is_relative_to(pages.resolve()), (page, target)
                assert found.exists(), (page, target)


@pytest.mark.parametrize("page", NEW, ids=[page.stem for page in NEW])
def test_a_page_opens_with_its_question_runs_warns_and_leads_on(page):
    text = page.read_text(encoding="utf-8")
    opening = text.split("\n\n")[1]
    assert re.match(r"\*\*[^*]+\?\*\*", opening), opening
    assert re.search(r"^```(python)?\n", text, re.M)
    assert "What can go wrong" in text
    assert re.search(r"^Next: \[", text, re.M)


def test_the_reference_lists_every_command_and_every_key(pages):
    commands = (pages / "reference" / "cli.md").read_text(encoding="utf-8")
    for name in typer.main.get_group(app).commands:
        assert f"## realloc {name}\n" in commands
    keys = (pages / "reference" / "config.md").read_text(encoding="utf-8")
    for config in SITE.TABLES.values():
        for field in fields(config):
            if field.name not in (*SITE.STAGES, "notes", "read"):
                assert f"| `{field.name}` | " in keys, field.name
    assert "| `beta` | a number | `0.25` |" in keys


def test_the_python_page_names_what_can_be_imported(pages):
    text = (pages / "reference" / "python.md").read_text(encoding="utf-8")
    named = {line.rsplit(".", 1)[1] for line in text.splitlines() if line.startswith(":::")}
    modules = {"baselines", "evaluate", "__version__"}
    assert named == set(realloc.__all__) - modules


def test_nothing_is_loaded_from_elsewhere():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert settings["theme"]["font"] is False
    assert not {"extra_javascript", "extra_css"} & set(settings)


def test_the_flowchart_is_what_its_script_draws():
    spec = importlib.util.spec_from_file_location(
        "f", DOCS / "images" / "make_flowchart.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "images" / "should_i_use_it.svg").read_text() == module.draw()


@pytest.mark.slow
@pytest.mark.skipif(
    not Path(sys.executable).with_name("zensical").exists(), reason="pip install '.[docs]'"
)
def test_the_site_builds_without_a_warning(pages, tmp_path):
    for name in ("docs", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(pages, tmp_path / "build" / "pages")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    zensical = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [zensical, "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    html = "".join(
        page.read_text(encoding="utf-8")
        for page in (tmp_path / "build" / "site").rglob("*.html")
    )
    loaded = re.findall(r'<(?:script|img|iframe)[^>]+src="(https?://[^"]+)', html)
    assert not loaded + re.findall(
        r'<link[^>]+rel="stylesheet"[^>]+href="(https?://[^"]+)', html
    )
