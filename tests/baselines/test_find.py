"""Baselines by name; tests/base/test_plugins.py has those of other packages."""

import pytest

from realloc import ConfigError
from realloc.baselines import BASELINES
from realloc.baselines.find import find_baseline


def test_every_baseline_of_ours_is_found():
    for name, made in BASELINES.items():
        assert find_baseline(name) is made


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean 'uniform'"):
        find_baseline("unifrom")
