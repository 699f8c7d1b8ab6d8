"""A finding as a sentence: what, where, in how many rows, and what to do."""

import pytest

from realloc.logs import Finding


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, ""),
        ({"rows": 1}, "1 row"),
        ({"rows": 1200, "unit": "a"}, "1,200 rows; unit 'a'"),
        ({"rows": 1, "where": "a.csv line 7"}, "1 row; a.csv line 7"),
        (
            {"rows": 2, "where": "a.csv line 7", "unit": "a", "date": "2026-01-31"},
            "2 rows; first: a.csv line 7, unit 'a', date 2026-01-31",
        ),
    ],
)
def test_the_place_names_the_first_case(place, text):
    finding = Finding(
        "negative", "error", "Expected more", "It is less.", "Add some.", **place
    )
    assert finding.place == text
    where = f" ({text})" if text else ""
    assert finding.sentence == f"Expected more{where}. It is less. Add some."
