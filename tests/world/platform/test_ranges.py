"""Parameters out of range are refused with their name, their place and their value."""

from types import SimpleNamespace

import pytest

from realloc import ConfigError
from realloc.world.platform.ranges import check_above_zero, check_not_negative, check_parts


@pytest.mark.parametrize(
    ("check", "good", "bad", "message"),
    [
        (check_above_zero, 0.1, 0.0, "Expected size > 0 in the shop, got 0.0"),
        (check_not_negative, 0.0, -0.1, "Expected size >= 0 in the shop, got -0.1"),
        (check_parts, 1.0, 1.1, "Expected size from 0 to 1 in the shop, got 1.1"),
    ],
)
def test_a_value_out_of_range_is_refused_with_a_sentence(check, good, bad, message):
    check(SimpleNamespace(size=good), ("size",), "the shop")
    with pytest.raises(ConfigError, match=message):
        check(SimpleNamespace(size=bad), ("size",), "the shop")
