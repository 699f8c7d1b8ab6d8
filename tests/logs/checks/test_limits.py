"""The limits of the check."""

import pytest

from realloc import ConfigError
from realloc.logs import CheckConfig


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"fewest_rows": 1},
            "`fewest_rows` and `fewest_units` of .check. to be at least 2",
        ),
        ({"few_units": -1}, "of .check. to be at least 0"),
        ({"budget_jump": 1.0}, "`budget_jump` of .check. above 1, got 1.0"),
        ({"few_rows": "many"}, "`few_rows` of .check."),
    ],
)
def test_limits_that_make_no_sense_are_refused(values, text):
    with pytest.raises(ConfigError, match=text):
        CheckConfig(**values)
