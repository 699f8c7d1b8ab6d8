"""What may be set, and the sentences for what may not."""

import pytest

from realloc.base.errors import ConfigError
from realloc.learn.student.config import StudentConfig


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"pair": "slop"}, r"Unknown `pair` 'slop' in \[student\]. Did you mean 'slope'\?"),
        (
            {"lambda_pair": -1.0},
            "Expected `lambda_pair` and `lambda_jac` of at least 0, and one of them above 0",
        ),
        ({"lambda_pair": 0.0, "lambda_jac": 0.0}, "one of them above 0"),
        (
            {"ema": 1.0},
            r"Expected `ema` from 0 to below 1 and `held_out` between 0 and 1 in \[student\]",
        ),
        ({"held_out": 0.0}, "`held_out` between 0 and 1"),
        ({"epochs": 0}, "Expected epochs, batch, patience and most_steps of at least 1"),
        (
            {"ema": "half"},
            r"Expected `ema` of \[student\] to be a number, got 'half' \(text\)",
        ),
    ],
)
def test_a_config_out_of_range_is_refused_with_a_sentence(change, sentence):
    with pytest.raises(ConfigError, match=sentence):
        StudentConfig(**change)
