"""docs/equations.md is true: every label of the paper is there, every function and every test
it names exists.
"""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
PAPER = ROOT.parent / "shared" / "paper.tex"
ROWS = [
    row
    for row in re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", PAGE, re.M)
    if row[0] not in ("in the paper", "---")
]


def test_every_label_of_the_paper_is_on_the_page_once():
    if not PAPER.exists():
        pytest.skip(f"the paper is not at {PAPER}")
    labels = re.findall(
        r"\\label\{((?:eq|thm|prop|cor|alg):[^}]+)\}", PAPER.read_text(encoding="utf-8")
    )
    listed = [row[0] for row in ROWS if re.match(r"(eq|thm|prop|cor|alg):", row[0])]
    assert sorted(listed) == sorted(set(labels))


@pytest.mark.parametrize(
    "place", sorted(set(re.findall(r"`((?:realloc|tests)[\w.]*:\w+)`", PAGE)))
)
def test_every_name_on_the_page_exists(place):
    module, name = place.split(":")
    assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize(
    "place", sorted(set(re.findall(r"`(tests/[\w/]+\.py(?::\w+)?)`", PAGE)))
)
def test_every_test_on_the_page_exists(place):
    path, _, name = place.partition(":")
    code = (ROOT / path).read_text(encoding="utf-8")
    tests = re.findall(r"^def (test_\w+)\(", code, re.M)
    assert name in tests if name else tests


def test_every_place_on_the_page_is_a_name_or_a_test():
    for label, _, where in ROWS:
        for place in re.findall(r"`([^`]+)`", where):
            assert re.fullmatch(
                r"(realloc|tests)[\w.]*:\w+|tests/[\w/]+\.py(:test_\w+)?", place
            ), label


def test_every_row_says_where_or_why_not():
    for label, _, where in ROWS:
        assert "`" in where or "not yet" in where or where == "theory only", label
