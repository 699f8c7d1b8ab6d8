"""Numbers as people write them."""

import pytest

from realloc.base.numbers import counted, readable


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.102e4, "11,020"),
        (-1234567.8, "-1,234,568"),
        (999.6, "1,000"),
        (0.000123, "0.000123"),
        (100.0, "100"),
        (float("nan"), "not known"),
    ],
)
def test_no_number_has_an_exponent(value, text):
    assert readable(value) == text


def test_one_is_not_plural():
    assert [counted(number, "row") for number in (1, 2000)] == ["1 row", "2,000 rows"]
