"""docs/logs.md lists every code that the source can say, and no other."""

import re
from pathlib import Path

from realloc.logs.checks.rules import RULES

ROOT = Path(__file__).parents[2]


def test_the_page_lists_exactly_the_codes_of_the_source():
    source = "\n".join(
        path.read_text()
        for path in (ROOT / "src" / "realloc").rglob("*.py")
        if "world" not in path.parts
    )
    said = set(re.findall(r'\bFinding\(\s*(?:code=)?"(\w+)"', source)) | set(RULES)
    table = (ROOT / "docs" / "logs.md").read_text().split("| code |")[1].split("\n\n")[0]
    listed = {
        code
        for row in re.findall(r"^\| ([\w, ]+) \|", table, re.M)
        for code in row.split(", ")
    }
    assert listed == said
