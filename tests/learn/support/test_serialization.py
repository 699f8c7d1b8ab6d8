"""A support that was saved and loaded is the same support."""

import copy

import numpy as np
import pytest

from realloc.learn.support.serialization import from_parts, to_parts
from tests.learn.support.drawn import (
    bent_support,
    zero_support,
)
from tests.small import same_bits


def round_trip(support):
    table, arrays = to_parts(support)
    return from_parts(
        copy.deepcopy(table), {name: values.copy() for name, values in arrays.items()}
    )


def partial_support():
    return zero_support("partial")


MAKERS = [bent_support, zero_support, partial_support]


@pytest.mark.parametrize("make", MAKERS, ids=["curves", "zeros", "partial"])
def test_what_is_saved_and_loaded_judges_alike_to_the_bit(make):
    support = make()
    again = round_trip(support)
    x, shares = support.logged.x[:200], support.logged.shares[:200]
    rows, ends = np.arange(200), shares[::-1, None]
    one, other = support.at(x), again.at(x)
    assert same_bits(
        one.border.radius(rows, ends, 2.0), other.border.radius(rows, ends, 2.0)
    )
    assert same_bits(
        one.score(rows, shares, shares[::-1]), other.score(rows, shares, shares[::-1])
    )
    assert same_bits(one.omega(rows, ends), other.omega(rows, ends))
    assert np.array_equal(
        one.allowed(rows, shares, ends), other.allowed(rows, shares, ends)
    )
    assert again.logged.unit.tolist() == support.logged.unit.tolist()
    assert again.logged.time.tolist() == support.logged.time.tolist()
    assert again.limit_error == support.limit_error


def test_a_file_whose_actions_are_no_shares_is_refused():
    table, arrays = to_parts(zero_support())
    with pytest.raises(ValueError, match="not on the simplex"):
        from_parts(table, {**arrays, "logged.shares": 2 * arrays["logged.shares"]})
