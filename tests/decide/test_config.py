"""The table `[decision]`: what cannot be used is refused with a sentence."""

import pytest

from realloc.base.errors import ConfigError
from realloc.decide.config import DecisionConfig
from realloc.decide.search.greedy import SearchConfig


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"search": "gredy"},
            r"Unknown `search` 'gredy' in \[decision\]. Did you mean 'greedy'",
        ),
        (
            {"uncertainty": "member"},
            r"Unknown `uncertainty` 'member' in \[decision\]. Did you mean 'members'",
        ),
        ({"steps": ()}, r"Expected `steps` of \[decision\] above 0 and up to 1, got \[\]"),
        ({"steps": (0.0, 0.1)}, r"above 0 and up to 1, got \[0.0, 0.1\]"),
        ({"steps": (0.1, 1.1)}, r"above 0 and up to 1, got \[0.1, 1.1\]"),
        (
            {"beta": -0.1},
            r"Expected `beta` >= 0",
        ),
        ({"lambda_support": -1.0}, r"`lambda_support` >= 0"),
        ({"max_length": -1.0}, r"`max_length` >= 0"),
        ({"epsilon": 0.0}, r"`epsilon` > 0 in \[decision\]"),
        (
            {"min_significance": -1.0},
            r"`min_significance` >= 0 in \[decision\], got -1.0",
        ),
        ({"max_steps": 0}, r">= 1 in \[decision\]"),
        ({"max_turns": 0}, r">= 1 in \[decision\]"),
        ({"confidence": 1.0}, r"from 0.5 to below 1, got 1.0"),
        ({"confidence": 0.4}, r"from 0.5 to below 1, got 0.4"),
        (
            {"weights": {"orders": 0.0}},
            r"Expected a weight above 0 for at least one outcome",
        ),
        ({"tolerances": {"gmv": -1.0}}, r"`tolerances` of \[decision\] of at least 0"),
        ({"beta": "much"}, r"Expected `beta` of \[decision\] to be a number, got 'much'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(change, sentence):
    with pytest.raises(ConfigError, match=sentence):
        DecisionConfig(**change)


def test_a_weight_may_be_negative_beside_one_that_is_not():
    assert DecisionConfig(weights={"orders": 1.0, "cost": -0.5}).weights["cost"] == -0.5


def test_the_search_is_set_by_the_decision():
    config = DecisionConfig(
        steps=(0.03,), max_steps=4, max_turns=5, max_length=0.11, threshold=0.7
    )
    assert config.searching() == SearchConfig(
        steps=(0.03,), max_steps=4, max_length=0.11, threshold=0.7, max_turns=5
    )
