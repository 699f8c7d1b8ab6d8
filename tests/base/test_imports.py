import tomllib
from pathlib import Path

import pytest

from realloc.base.errors import MissingExtra
from realloc.base.imports import DISTRIBUTION, need

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())[
    "project"
]


def test_a_missing_package_says_the_pip_line():
    with pytest.raises(MissingExtra, match=rf"pip install '{DISTRIBUTION}\[serve\]'"):
        need("no_such_package_at_all", "serve")


def test_a_package_outside_our_extras_is_named_itself():
    with pytest.raises(MissingExtra, match="pip install no_such_package_at_all"):
        need("no_such_package_at_all")


def test_an_installed_package_is_returned():
    assert need("json").dumps([1]) == "[1]"


def test_the_distribution_and_its_extras_are_the_declared_ones():
    assert PROJECT["name"] == DISTRIBUTION
    assert {"serve", "figures", "mlflow", "peers", "dev"} <= set(
        PROJECT["optional-dependencies"]
    )


def test_torch_is_capped_so_that_plain_pip_takes_the_light_build():
    assert [line for line in PROJECT["dependencies"] if line.startswith("torch")] == [
        "torch>=2.6,<2.14"
    ]
