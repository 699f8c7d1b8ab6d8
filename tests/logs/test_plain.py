"""Rows as plain values are read as a table of them is, or not at all."""

from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realloc import Schema
from realloc.logs.plain import read_plain
from realloc.logs.reading.read import load_today

SPENDS = Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=["ads", "tv"],
    features=["price", "promoted", "kind"],
    categorical=["kind"],
)
SHARES = replace(SPENDS, budget="budget")
ROW = {
    "item": "a",
    "date": "2026-03-01",
    "ads": 30.0,
    "tv": 10,
    "price": 1.1,
    "promoted": True,
    "kind": "toys",
}

numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(0, 1e6),
    st.integers(-(2**70), 2**70),
    st.none(),
    st.booleans(),
)
cells = {
    "item": st.one_of(st.text(max_size=4), st.integers(-(2**65), 2**65), st.none()),
    "date": st.one_of(
        st.dates().map(str),
        st.dates(),
        st.datetimes(),
        st.sampled_from(["2026-02-30", "2026-03-01T10:00:00", "2026-3-1", "", "20260301"]),
    ),
    "ads": numbers,
    "tv": numbers,
    "price": numbers,
    "promoted": st.one_of(st.booleans(), st.none(), st.floats(0, 1)),
    "kind": st.one_of(st.text(max_size=4), st.none(), st.integers(0, 3)),
}


def assert_read_alike(rows, schema):
    """The same numbers, words and keys as over a table, with nothing left out there."""
    plain = read_plain(rows, schema)
    if plain is None:
        return None
    today = load_today(pa.Table.from_pylist(rows), schema)
    assert len(plain) == len(today.logs) == len(rows)
    place = today.positions  # a table is sorted by unit and time
    for name in ("shares", "budget", "amounts", "unit_names"):
        assert np.array_equal(getattr(plain, name)[place], getattr(today.logs, name)), name
    assert (plain.times[place] == today.logs.times).all()
    assert np.array_equal(
        plain.floats("price")[place], today.logs.floats("price"), equal_nan=True
    )
    for logs, order in ((plain, place), (today.logs, slice(None))):
        words, codes = logs.words("kind")
        assert not logs.is_category("price")
        assert logs.is_category("kind")
        texts = np.array([*words, None], dtype=object)[codes]
        expected = [row["kind"] or None for row in rows]
        assert texts[order].tolist() == np.array(expected, dtype=object)[place].tolist()
    table = plain.table.take(place)
    for name in ("item", "ads", "tv", "promoted", "date"):
        assert str(table[name].to_pylist()) == str(today.logs.table[name].to_pylist())
    return plain


@given(st.dictionaries(st.sampled_from(sorted(cells)), st.none(), max_size=3), st.data())
def test_what_is_read_is_read_as_a_table_is(changed, data):
    row = ROW | {name: data.draw(cells[name], label=name) for name in changed}
    assert_read_alike([row], SPENDS)


@given(st.lists(st.fixed_dictionaries({
    "item": st.sampled_from(["b", "a", "é"]),
    "date": st.sampled_from(["2026-03-01", "2026-03-02"]),
    "ads": st.floats(0, 1e6),
    "tv": st.floats(0.01, 1e6),
    "price": st.one_of(st.none(), st.floats(-1e20, 1e20), st.integers(-5, 5)),
    "promoted": st.booleans(),
    "kind": st.one_of(st.none(), st.sampled_from(["toys", "", "books"])),
}), min_size=1, max_size=5))  # fmt: skip
def test_sound_rows_need_no_table(rows):
    assert assert_read_alike(rows, SPENDS) is not None


def test_shares_and_a_budget():
    row = ROW | {"ads": 0.25, "tv": 0.75, "budget": 100}
    assert assert_read_alike([row, row | {"item": "b"}], SHARES) is not None
    assert read_plain([row | {"tv": 0.5}], SHARES) is None
    assert read_plain([row | {"budget": 0}], SHARES) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"ads": -1.0},
        {"ads": None},
        {"ads": float("nan")},
        {"ads": "30"},
        {"ads": 0, "tv": 0},
        {"item": " "},
        {"item": None},
        {"item": 2**64},
        {"date": "1899-01-01"},
        {"date": "yesterday"},
        {"date": datetime(2026, 1, 1, tzinfo=UTC)},
        {"price": "cheap"},
        {"price": 1e31},
        {"price": float("inf")},
        {"kind": 3},
        {"kind": "a\nb"},
        {"more": 1},
    ],
)
def test_anything_unusual_is_left_to_the_table(changed):
    assert read_plain([ROW], SPENDS) is not None
    assert read_plain([ROW | changed], SPENDS) is None


def test_a_day_may_be_text_or_a_date():
    for day in ("2026-03-01", date(2026, 3, 1), datetime(2026, 3, 1)):
        plain = read_plain([ROW | {"date": day}], SPENDS)
        assert plain is not None
        assert plain.times[0] == np.datetime64("2026-03-01")


def test_schemas_that_need_a_table():
    for schema in (
        replace(SPENDS, drop_units=("total",)),
        replace(SPENDS, features=None, categorical=None),
        replace(SPENDS, currency="currency"),
    ):
        assert read_plain([ROW], schema) is None
    assert read_plain([], SPENDS) is None
