"""A fresh clone installs what was tested: every package that we name has its one version."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {normal(name): version for name, version in pairs}


def test_every_package_that_we_name_has_its_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {normal(re.split(r"[^\w.-]", line)[0]) for lines in lists for line in lines}
    assert sorted(names - pinned().keys()) == []


def test_torch_stays_below_the_cap():
    """Above it plain pip takes a build with gigabytes of accelerator packages."""
    major, minor, *_ = pinned()["torch"].split(".")
    assert (int(major), int(minor)) < (2, 14)
