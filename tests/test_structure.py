"""The tree one can see: few entries at the top, tests beside their sources, no name twice."""

import ast
from collections import Counter
from pathlib import Path

import realloc

SOURCE = Path(realloc.__file__).parent
TESTS = Path(__file__).parent
MOST_ENTRIES = 16
MIRRORED = 0.9
LEAST_LINES = 30  # a module of fewer lines may be tested with its neighbour


def modules() -> list[Path]:
    """Modules that should have a test file of their own, relative to the package."""
    paths = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    long = [path for path in paths if len(path.read_text().splitlines()) > LEAST_LINES]
    return [path.relative_to(SOURCE) for path in long]


def test_the_package_has_few_entries():
    aside = {"__init__.py", "__pycache__", "py.typed"}
    entries = sorted(path.name for path in SOURCE.iterdir() if path.name not in aside)
    assert len(entries) <= MOST_ENTRIES, entries


def test_tests_mirror_the_source():
    missing = [
        str(path)
        for path in modules()
        if not (TESTS / path.parent / f"test_{path.name}").exists()
    ]
    share = 1 - len(missing) / len(modules())
    assert share >= MIRRORED, (
        f"{share:.0%} have a test file of their name; missing: {missing}"
    )


def test_no_class_name_is_defined_twice():
    names = Counter(
        node.name
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    twice = sorted(name for name, count in names.items() if count > 1)
    assert twice == []
