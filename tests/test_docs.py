"""README and docs keep their promises: short, few numbers, links that lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += [ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "skills").rglob("*.md"))
PAGES += [
    ROOT / "docs" / "llms.txt",
    ROOT / "deploy" / "README.md",
    ROOT / "examples" / "README.md",
]
IDS = [page.stem for page in PAGES]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<![\w.])[+\-−]?\d*\.?\d+")
SCRIPT = re.compile(r"\bpython (?:-m )?((?:experiments|benchmarks|docs)[\w./]*)")
OUTSIDE = (
    r"\bissues? \d",
    r"\.\./shared",
    r"\b(?!CONTRIBUTING|CHANGELOG|README|SKILL|SECURITY)[A-Z]{5,}\.md\b",
)


def test_the_two_commands_stand_at_the_top_and_ci_calls_the_second():
    assert re.search(r"^make demo .*\nmake test ", README[:700], re.M)
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("\nmake test")


def test_the_readme_is_short_and_carries_few_numbers():
    assert len(README.splitlines()) <= 130
    words = re.findall(r"[A-Za-z][\w'-]*", README)
    assert 100 * len(NUMBER.findall(README)) / len(words) <= 4


def test_a_sentence_of_the_readme_carries_at_most_one_number():
    prose = re.sub(r"^```.*?^```$|^\|.*?$|\]\([^)]*\)", "", README, flags=re.M | re.S)
    for sentence in re.split(r"[.:!?]\s", prose):
        assert len(NUMBER.findall(sentence)) <= 1, sentence


def test_the_map_of_the_readme_is_the_tree():
    listed = re.findall(r"^(\w+)/ ", README.split("## Map")[1], re.M)
    folders = [
        path.parent.name for path in (ROOT / "src" / "realloc").glob("*/__init__.py")
    ]
    assert sorted(listed) == sorted(folders)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_link_to_a_file_leads_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not re.match(r"\w+:", target):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_the_page_cites_only_what_is_in_the_repository(page):
    for pattern in OUTSIDE:
        assert not re.search(pattern, page.read_text(encoding="utf-8")), pattern


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_script_and_make_target_that_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    for script in SCRIPT.findall(text):
        path = script if script.endswith(".py") else script.replace(".", "/") + ".py"
        assert (ROOT / path).exists(), script
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for target in re.findall(r"(?:^|`)make ([\w-]+)", text, re.M):
        assert target in targets, target


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_source_file_that_a_page_names_exists(page):
    """Paths such as `learn/teacher/sparse.py` or `realloc.learn.support`."""
    for name in re.findall(r"`([\w./]+)`", page.read_text(encoding="utf-8")):
        if re.fullmatch(r"[\w/]+/\w+\.(py|c)", name):
            roots = (ROOT, ROOT / "src" / "realloc", page.parent)
            assert any((root / name).exists() for root in roots), name
        elif re.fullmatch(r"realloc(\.[a-z_]+)+", name):
            path = ROOT / "src" / name.replace(".", "/")
            homes = (
                path,
                path.with_suffix(".py"),
                path.parent.with_suffix(".py"),
                path.parent,
            )
            assert any(home.exists() for home in homes), name
