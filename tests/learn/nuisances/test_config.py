"""Configs of the nuisances: what is out of range is refused with a sentence."""

import pytest

from realloc import ConfigError
from realloc.learn.nuisances.config import NuisanceConfig


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"folds": 1}, "Expected `folds` of at least 2"),
        ({"models": ()}, "Expected one or more different `models`"),
        ({"models": ("network", "network")}, "Expected one or more different `models`"),
        ({"models": ("bosting",)}, "Unknown model 'bosting' .* Did you mean 'boosting'"),
        ({"outcome": "counts"}, "Unknown `outcome` 'counts' .* Did you mean 'count'"),
        ({"width": 0}, "Expected `repeats`, `width`, `depth`"),
        ({"leaves": 1}, "`leaves` of at least 2"),
        ({"shrinkage": 0.0}, "Expected `shrinkage` above 0"),
        ({"rate": 0.0}, "rate above 0"),
        ({"epochs": 2.5}, "Expected `epochs` of \\[nuisances\\] to be a whole number"),
    ],
)
def test_bad_configs_are_refused_with_a_sentence(change, text):
    with pytest.raises(ConfigError, match=text):
        NuisanceConfig(**change)
