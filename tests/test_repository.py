"""Files for hosts and contributors: they parse, and name only what there is."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.M))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def steps(path: Path) -> list[str]:
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_make_targets_and_nothing_else(path):
    calls = [step for step in steps(path) if not step.startswith("sudo apt-get")]
    assert calls
    for call in calls:
        words = call.split()
        assert words[0] == "make", call
        assert words[-1] in TARGETS, call
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}


def test_the_matrix_begins_with_the_oldest_python_of_the_package():
    gate = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]
    versions = gate["gate"]["strategy"]["matrix"]["python"]
    assert versions == ["3.11", "3.12", "3.13"]
    assert f'requires-python = ">={versions[0]}"' in (ROOT / "pyproject.toml").read_text()


def test_hooks_call_make_targets():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0][
        "hooks"
    ]
    assert {hook["entry"].split()[-1] for hook in hooks} <= TARGETS


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_issue_forms_ask_something(path):
    form = yaml.safe_load(path.read_text())
    assert form["name"]
    assert form["description"]
    assert {part["type"] for part in form["body"]} <= {"textarea", "checkboxes"}


def test_the_citation_names_software_and_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["license"] == "Apache-2.0"
    assert cited["references"][0]["title"] == "Multi-channel Uplift Policy Learning"
    assert len(cited["references"][0]["authors"]) == 10
