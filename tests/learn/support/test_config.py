"""The table `[support]`: what cannot be used is refused with a sentence."""

import pytest

from realloc.base.errors import ConfigError
from realloc.learn.support.config import SupportConfig


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"coordinates": "spere"},
            r"Unknown `coordinates` 'spere' in \[support\]. Did you mean 'sphere'",
        ),
        ({"level": 1.0}, r"Expected `level` from 0.5 to below 1"),
        ({"level": 0.49}, r"Expected `level` from 0.5 to below 1"),
        ({"margin": -0.1}, r"`margin` of at least 0 in \[support\]"),
        ({"members": 1}, r"Expected `members` of at least 2"),
        ({"rows": 199}, r"`rows` of at least 200"),
        ({"neighbours": 0}, r"`neighbours` of at least 1 in \[support\]"),
        ({"level": "high"}, r"Expected `level` of \[support\] to be a number, got 'high'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(change, sentence):
    with pytest.raises(ConfigError, match=sentence):
        SupportConfig(**change)


def test_the_least_of_everything_is_allowed():
    least = SupportConfig(level=0.5, margin=0, members=2, rows=200, neighbours=1)
    assert (least.level, least.margin, least.rows) == (0.5, 0, 200)
