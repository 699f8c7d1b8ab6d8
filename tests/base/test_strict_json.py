"""Strict JSON: what usual parsers let pass is refused, and says why."""

import json

import pytest

from realloc.base.strict_json import parse_object, to_text


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b'{"a": 1, "a": 2}', "the key 'a' comes twice"),
        (b'{"a": {"b": 1, "b": 1}}', "the key 'b' comes twice"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": -Infinity}', "-Infinity is not a number"),
        (b'{"a": 1e999}', "not JSON compliant"),
        (b"[1]", "it holds no object but list"),
        (b"1", "it holds no object but int"),
        (b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}", "nested deeper than 32 levels"),
        (b'{"a":' * 100_000, "nested deeper than 32 levels"),
        (b'{"a": "\\ud800"}', "surrogates not allowed"),
        (b'\xff{"a": 1}', "invalid start byte"),
        (b'{"a": 1} x', "Extra data"),
        (b"", "Expecting value"),
    ],
)
def test_what_others_let_pass_is_refused(content, match):
    with pytest.raises(ValueError, match=match):
        parse_object(content)


def test_the_control_python_itself_reads_most_of_it():
    assert json.loads(b'{"a": 1, "a": 2}') == {"a": 2}
    assert json.loads(b'{"a": 1e999}') == {"a": float("inf")}


def test_depth_counts_from_the_object():
    assert parse_object(b'{"a": [[1]]}', deepest=3) == {"a": [[1]]}
    with pytest.raises(ValueError, match="nested deeper than 2 levels"):
        parse_object(b'{"a": [[1]]}', deepest=2)


def test_text_is_spelt_in_one_way():
    assert to_text({"b": 1, "a": "ä"}) == '{"a": "ä", "b": 1}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_text({"a": float("nan")})
