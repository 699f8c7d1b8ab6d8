"""Build the site: pages with everything they link to, generated reference, then Zensical, strictly.

Pages stay where GitHub shows them, so they link to files beside docs/. A site is one folder: what
is linked is copied into it, and the links follow.
"""

import argparse
import dataclasses
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import typer

import realloc
from realloc.base.validation import describe_type
from realloc.cli.main import app
from realloc.evaluate.abtest.config import AbtestConfig
from realloc.evaluate.report.config import ReportConfig
from realloc.logs import ReadOptions, Schema
from realloc.model.config import STAGES, Config
from realloc.serve.http.config import ServeConfig

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "pages"
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")
ASIDE = (".py", ".pyc")
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "deploy/README.md", "examples/README.md")
# The table of `realloc.toml` and the class that checks it; "" for the keys above the first table.
TABLES: dict[str, type[Any]] = {
    "": Config,
    "schema": Schema,
    "read": ReadOptions,
    **STAGES,
    "abtest": AbtestConfig,
    "report": ReportConfig,
    "serve": ServeConfig,
}


def main() -> None:
    """Build, or with --pages only put the pages together."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", action="store_true", help="without Zensical")
    only_pages = options.parse_args().pages
    print(f"{put_together(PAGES)} pages in {PAGES.relative_to(ROOT)}")
    if not only_pages:
        zensical = Path(sys.executable).with_name("zensical")
        subprocess.run([zensical, "build", "--clean", "--strict"], cwd=ROOT, check=True)
        print("The site is in build/site: open build/site/index.html.")


def put_together(target: Path) -> int:
    """Write every page with what it links to into an empty folder; how many pages that are."""
    shutil.rmtree(target, ignore_errors=True)
    for source in sorted(DOCS.rglob("*")):
        if source.is_file() and source.suffix not in ASIDE:
            copy(source, target, {})
    for name in BESIDE:
        copy(ROOT / name, target, {})
    for name, generate in GENERATED.items():
        page = target / "reference" / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(generate(), encoding="utf-8")
    return sum(1 for _ in target.rglob("*.md"))


def place_of(source: Path) -> Path:
    """Where a file lies in the site: docs/ is its root, other folders keep their names."""
    inside = source.relative_to(ROOT)
    return inside.relative_to("docs") if inside.parts[0] == "docs" else inside


def copy(source: Path, target: Path, done: dict[Path, None]) -> None:
    """Copy a file, and for a page also what it links to."""
    place = target / place_of(source)
    if source in done or place.exists():
        return
    done[source] = None
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix != ".md":
        shutil.copy(source, place)
        return

    def follow(link: re.Match[str]) -> str:
        start, name, end = link.groups()
        linked = (source.parent / name).resolve()
        if (
            re.match(r"\w+:", name)
            or not linked.is_relative_to(ROOT)
            or not linked.exists()
        ):
            return link[0]
        if linked.is_dir():
            linked = index_of(linked)
        copy(linked, target, done)
        return f"{start}{relative(place_of(linked), place_of(source))}{end}"

    text = source.read_text(encoding="utf-8")
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    parts[::2] = [LINK.sub(follow, part) for part in parts[::2]]
    place.write_text("".join(parts), encoding="utf-8")


def index_of(folder: Path) -> Path:
    """The page that stands for a folder: its README, or a list that is made."""
    readme = folder / "README.md"
    if readme.exists():
        return readme
    made = ROOT / "build" / "listed" / f"{folder.name}.md"
    made.parent.mkdir(parents=True, exist_ok=True)
    pages = sorted(folder.glob("*.md"))
    lines = [f"# {folder.relative_to(ROOT)}", ""]
    lines += [
        f"* [{page.stem}]({Path('../..') / page.relative_to(ROOT)})" for page in pages
    ]
    made.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return made


def relative(target: Path, page: Path) -> str:
    """The way from one page to another file of the site."""
    up = len(page.parent.parts)
    return "/".join([*[".."] * up, target.as_posix()])


# ---------------------------------------------------------------- generated reference


def command_line() -> str:
    """Every command with its help."""
    lines = [
        "# Command line",
        "",
        "**Which commands and options are there?** What `--help` prints. Exit codes: 0 done, "
        "2 bad input or an alarm, 1 unexpected.",
        "Next: [config keys](config.md).",
    ]
    for name, command in typer.main.get_group(app).commands.items():
        context = command.make_context(
            f"realloc {name}", [], resilient_parsing=True, max_content_width=110
        )
        lines += ["", f"## realloc {name}", "", "```text", command.get_help(context), "```"]
    return "\n".join(lines) + "\n"


def config_keys() -> str:
    """Every key of `realloc.toml` with its type, default and meaning."""
    meanings = glossary()
    lines = [
        "# Config keys",
        "",
        "**What can be set in `realloc.toml`?** Unknown keys are refused with the nearest known "
        "one.",
        "Next: [Python](python.md).",
    ]
    for table, config in TABLES.items():
        heading = f"[{table}]" if table else "Above the first table"
        lines += [
            "",
            f"## {heading}",
            "",
            "| key | type | default | meaning |",
            "|---|---|---|---|",
        ]
        hints = get_type_hints(config)
        for field in dataclasses.fields(config):
            if field.name in STAGES or (
                config is Schema and field.name in ("read", "notes")
            ):
                continue
            kind = describe_type(hints[field.name])
            cells = (f"`{field.name}`", kind, default_of(field))
            meaning = meanings[table, field.name]
            lines.append(
                f"| {' | '.join(cell.replace('|', 'or') for cell in cells)} | {meaning} |"
            )
    return "\n".join(lines) + "\n"


def default_of(field: "dataclasses.Field[Any]") -> str:
    """A default as TOML users know it."""
    if field.default is not dataclasses.MISSING:
        value = field.default
    elif field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    else:
        return "required"
    if value is None:
        return "none"
    shown = list(value) if isinstance(value, tuple) else value
    return f"`{str(shown).lower() if isinstance(shown, bool) else shown}`"


def glossary() -> dict[tuple[str, str], str]:
    """Meanings of keys by table, as the glossary has them."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    found: dict[tuple[str, str], str] = {}
    for part in re.split(r"^#{2,3} ", text, flags=re.M):
        heading = part.split("\n")[0]
        tables = re.findall(r"\[(\w+)\]", heading) or (
            [""] if heading == "Config keys" else []
        )
        for key, meaning in re.findall(r"^\| `([^`]+)` \| (.+) \|$", part, re.M):
            found |= {(table, key): meaning for table in tables}
    return found


def python_names() -> str:
    """Every public name, for mkdocstrings."""
    lines = [
        "# Python",
        "",
        "**What does `import realloc` offer?** These names. Next: [logs](../logs.md).",
    ]
    for name in public_objects():
        lines += ["", f"::: {name}"]
    return "\n".join(lines) + "\n"


def public_objects() -> Iterator[str]:
    """Public classes and functions by the module that defines them."""
    for name in realloc.__all__:
        thing = getattr(realloc, name)
        if hasattr(thing, "__module__"):
            yield f"{thing.__module__}.{name}"


TABLE_HEAD = ("| key | type | default | meaning |", "|---|---|---|---|")
GENERATED = {"cli": command_line, "config": config_keys, "python": python_names}

if __name__ == "__main__":
    main()
