"""Parameters out of range are refused with their name, their place and their value."""

from types import SimpleNamespace

import pytest

from realloc import ConfigError
from realloc.base.validation import check_range


@pytest.mark.parametrize(
    ("expected", "good", "bad", "message"),
    [
        ("> 0", 0.1, 0.0, "Expected `size` > 0 in the shop, got 0.0"),
        (">= 0", 0.0, -0.1, "Expected `size` >= 0 in the shop, got -0.1"),
        ("from 0 to 1", 1.0, 1.1, "Expected `size` from 0 to 1 in the shop, got 1.1"),
    ],
)
def test_a_value_out_of_range_is_refused_with_a_sentence(expected, good, bad, message):
    check_range(SimpleNamespace(size=good), ("size",), expected, "the shop")
    with pytest.raises(ConfigError, match=message):
        check_range(SimpleNamespace(size=bad), ("size",), expected, "the shop")
