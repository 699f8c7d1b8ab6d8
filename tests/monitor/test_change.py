"""How a column has changed, in words."""

import pytest

from realloc.logs.summary import ColumnSummary
from realloc.monitor.change import describe_change

NUMBER = ColumnSummary("state", "number", edges=[1.0, 2.0], parts=[0.3, 0.3, 0.4, 0.0])
TEXT = ColumnSummary("state", "text", levels=["toys"], parts=[0.6, 0.4, 0.0])
DATE = ColumnSummary("state", "date", edges=[20_000.0], parts=[0.5, 0.5, 0.0])
BUDGET = ColumnSummary("state", "number", edges=[7.6009], parts=[0.5, 0.5, 0.0])


@pytest.mark.parametrize(
    ("name", "column", "counts", "told"),
    [
        ("price", NUMBER, [0, 0, 10, 0], "100% of the rows lie above 2, in training 40%"),
        (
            "price",
            NUMBER,
            [8, 1, 1, 0],
            "80% of the rows lie at 1 or below, in training 30%",
        ),
        ("price", NUMBER, [2, 1, 1, 6], "60% of the rows have no value, in training 0%"),
        ("kind", TEXT, [0, 10, 0], "0% of the rows are 'toys', in training 60%"),
        ("day", DATE, [0, 4, 0], "100% of the rows lie above 2024-10-04, in training 50%"),
        ("budget", BUDGET, [0, 4, 0], "100% of the rows lie above 2,000, in training 50%"),
    ],
)
def test_the_place_that_changed_most_is_named(name, column, counts, told):
    assert describe_change(name, column, counts) == told
