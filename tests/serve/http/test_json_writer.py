"""Answers as JSON say what the table says, value by value; NaN is an error."""

import json
from dataclasses import replace

import numpy as np
import orjson
import pyarrow as pa
import pytest

from realloc import Schema
from realloc.serve.http.json_writer import answer_rows

SCHEMA = Schema(unit="u", time="t", outcome="y", channels=["a%", 'b"'])
TEXTS = [
    '","',
    '"',
    "\\",
    '\\","',
    "",
    "\n",
    "ä → 🙂",
    "null",
    "%b",
    "],[",
    "\x7f\u2028",
    "a,b",
    "'",
]


def table(rows, **changed):
    draw = np.random.default_rng(3)
    numbers = {
        f"{kind}_{name}": draw.normal(size=rows)
        for kind in ("share", "spend")
        for name in SCHEMA.channels
    }
    columns = {
        "u": [TEXTS[i % len(TEXTS)] for i in range(rows)],
        "t": ["2026-01-01"] * rows,
        **numbers,
    }
    columns |= {
        "moved": draw.random(rows) < 0.5,
        "steps": draw.integers(0, 9, rows),
        "100 %": draw.random(rows) * 1e-9,
    }
    return pa.table(columns | changed)


def written(answers, schema=SCHEMA):
    """What a client reads."""
    return json.loads(orjson.dumps(answer_rows(answers, schema)))


def as_told(answers, schema=SCHEMA):
    """The plain way: one dict a row."""
    found = []
    for row in answers.to_pylist():
        told = {"unit": row.pop(schema.unit), "time": row.pop(schema.time)}
        for key, kind in (("shares", "share"), ("spend", "spend")):
            told[key] = {name: row.pop(f"{kind}_{name}") for name in schema.channels}
        found.append(told | row)
    return found


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_objects_hold_every_value_of_the_table_in_the_same_order_and_type(rows):
    answers = table(rows)
    assert repr(written(answers)) == repr(as_told(answers))


def test_numbers_come_back_to_the_bit():
    bits = np.random.default_rng(4).integers(0, 2**63, 20_000).view(np.float64)
    values = np.concatenate(
        [
            bits[np.isfinite(bits)],
            [5e-324, -0.0, 0.0, 1e16, 1e22, 123456789.0, 1.7976931348623157e308],
        ]
    )
    found = [row["gain"] for row in written(table(len(values), gain=values))]
    assert np.array_equal(np.array(found).view(np.int64), values.view(np.int64))


def test_texts_come_back_whatever_stands_in_them():
    for signs in (TEXTS, TEXTS[::-1], TEXTS * 3, ['","']):
        answers = table(len(signs), reason=signs)
        assert [row["reason"] for row in written(answers)] == signs


def test_ids_may_be_numbers_and_floats_may_be_short():
    answers = table(3, u=[7, 8, 9], gain=np.array([0.1, 0.2, 0.3], np.float32))
    assert repr(written(answers)) == repr(as_told(answers))


def test_what_is_missing_is_null():
    gain = pa.array(np.array([1.0, 4.0]), mask=np.array([False, True]))
    rows = written(table(2, gain=gain, note=pa.array(["a", None])))
    assert [(row["gain"], row["note"]) for row in rows] == [(1.0, "a"), (None, None)]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_an_error(value):
    with pytest.raises(ArithmeticError, match="'gain'"):
        answer_rows(table(2, gain=np.array([1.0, value])), SCHEMA)


def test_channels_of_any_name_are_keys():
    schema = replace(SCHEMA, channels=("%s", "%%b"))
    answers = table(2).rename_columns(
        [name.replace("a%", "%s").replace('b"', "%%b") for name in table(2).column_names]
    )
    assert written(answers, schema) == as_told(answers, schema)
