"""The quick parser reads what the strict one reads, type by type, and refuses what it refuses, word for word."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realloc.serve.http import fast_json as usual
from realloc.serve.http import strict_json as strict
from realloc.serve.http.http_error import Refusal
from tests.serve.http.asking import some_rows
from tests.serve.http.fuzz import ROUTES, mutate, sound, swap_values
from tests.serve.http.test_door import BAD

COUNT = 6000


def heard(parse, body):
    """What a parser makes of a body, with types and the order of keys, or what it says against it."""
    try:
        return repr(parse(body))
    except Refusal as refusal:
        return refusal.status, refusal.error, refusal.sentence


def rows_of(*values, keys="abcdefgh"):
    """One row with these texts as values."""
    listed = ", ".join(f'"{key}": {value}' for key, value in zip(keys, values, strict=False))
    return f'{{"rows": [{{{listed}}}]}}'.encode()


ODD = {
    "a key twice": b'{"rows": [{"a": 1, "a": 2}]}',
    "a key twice, a blank before the colon": b'{"rows": [{"a" : 1, "a": 2}]}',
    "a key twice, all blanks before the colon": b'{"rows": [{"a" \t\r\n: 1, "a"\n: 2}]}',
    "a key twice, a colon in a text gone": b'{"rows": [{"a": ":", "a": 2, "b": "x"}]}',
    "a key twice, once in other words": b'{"rows": [{"a": 1, "\\u0061": 2}]}',
    "rows twice": b'{"rows": [{"a": 1}], "rows": [{"a": 1}]}',
    "rows twice, first no list": b'{"rows": 1, "rows": [{"a": 1}]}',
    "a key twice inside": b'{"rows": [{"a": {"b": 1, "b": 2}}]}',
    "a list inside": b'{"rows": [{"a": [1, [2]]}]}',
    "a deep list inside": b'{"rows": [{"a": ' + b"[" * 20 + b"]" * 20 + b"}]}",
    "an empty object inside": b'{"rows": [{"a": {}}]}',
    "an object inside": b'{"rows": [{"a": {"b": 1}}]}',
    "another key": b'{"rows": [{"a": 1}], "to": {"a": -0.0}}',
    "another key alone": b'{"row": {"a": -0.0}}',
    "no key": b"{}",
    "rows as a number": b'{"rows": 1}',
    "rows of numbers": b'{"rows": [1]}',
    "rows of lists": b'{"rows": [[1]]}',
    "18 signs": rows_of("9" * 18, "-" + "9" * 17),
    "19 signs": rows_of("9" * 19),
    "19 signs with the sign": rows_of("-" + "9" * 18),
    "19 signs, a tab before": b'{"rows": [{"a":\t1000000000000000000}]}',
    "19 signs at the end": b'{"rows": [{"b": 1, "a":1000000000000000000}]}',
    "19 digits as text": rows_of('"' + "9" * 19 + '"'),
    "a whole number beyond 64 bits": rows_of("9" * 23),
    "as a float": rows_of("9" * 23 + ".0", "9" * 23 + "e0", "1e22"),
    "40 signs": rows_of("0." + "3" * 38, "-" + "1" * 10 + "." + "3" * 28),
    "zeros": rows_of("0", "-0", "0.0", "-0.0", "0e5", "1e-400", "-1e-400"),
    "halves": rows_of(
        "5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "0.1", "9007199254740993.0"
    ),
    "infinite": rows_of("1e400"),
    "escapes": rows_of(r'"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude42"', '"\x7f\u2028"'),
    "half a pair": rows_of(r'"\ud800"'),
    "half a pair in a key": b'{"rows": [{"\\udc00": 1}]}',
    "a bare newline": rows_of('"a\nb"'),
    "blanks all over": b' \t\r\n{ "rows" :\n[ { "a" : 1 , "b" : 2.5 } ] } \n',
    "a vertical tab": b'{"rows": [{"a":\x0b1}]}',
    "behind the end": b'{"rows": [{"a": 1}]} x',
    "a comma too many": b'{"rows": [{"a": 1,}]}',
    "a zero in front": rows_of("01"),
    "half a number": rows_of("1."),
    "plus": rows_of("+1"),
    "surrogates in UTF-8": b'{"rows": [{"a": "\xed\xa0\x80"}]}',
    "overlong UTF-8": b'{"rows": [{"a": "\xc0\xaf"}]}',
    "deep": b'{"a":' * 900 + b"1" + b"}" * 900,
}
ODD |= {
    f"{signs} signs {shift} bytes on": b" " * shift + rows_of("0." + "3" * (signs - 2))
    for signs in (39, 40, 41, 42, 43)
    for shift in range(2)
}


@pytest.mark.parametrize(
    "body", [*ODD.values(), *(body for body, _ in BAD.values())], ids=[*ODD, *BAD]
)
def test_odd_bodies_are_read_as_the_strict_parser_reads_them(body):
    assert heard(usual.parse, body) == heard(strict.parse, body)


def test_thousands_of_broken_bodies_are_read_as_the_strict_parser_reads_them():
    draw, told, refused = random.Random(5), 0, 0
    for _ in range(COUNT):
        asked = (
            swap_values(draw, sound(draw.choice(ROUTES))) if draw.random() < 0.5 else sound("batch")
        )
        spaced = (
            {}
            if draw.random() < 0.5
            else {"separators": draw.choice([(",", ":"), (" ,", " :"), (",\n", "\t:")])}
        )
        body = json.dumps(asked, ensure_ascii=draw.random() < 0.5, **spaced).encode(
            "utf-8", "surrogatepass"
        )
        body = mutate(draw, body) if draw.random() < 0.8 else body
        found = heard(usual.parse, body)
        assert found == heard(strict.parse, body), body
        told, refused = told + isinstance(found, str), refused + isinstance(found, tuple)
    assert told > COUNT / 5
    assert refused > COUNT / 5


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.text(alphabet='":{}[],\\ 0'),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=5), max_size=4), st.booleans()
)
def test_rows_of_any_values_are_read_as_the_strict_parser_reads_them(rows, plain):
    body = json.dumps({"rows": rows}, ensure_ascii=plain).encode("utf-8", "surrogatepass")
    assert heard(usual.parse, body) == heard(strict.parse, body)


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":"), (" , ", " : ")])
def test_the_usual_body_is_read_quickly_and_an_odd_one_strictly(monkeypatch, separators):
    asked = []
    monkeypatch.setattr(strict, "parse", lambda body: asked.append(body) or {})
    rows = some_rows(40)
    rows[3] |= {"date": "2026-01-01T09:30:00", "c1": None, "item_id": "9" * 20, "c2": 3}
    body = json.dumps({"rows": rows}, separators=separators).encode()
    assert usual.parse(body) == {"rows": rows}
    assert not asked
    usual.parse(body.replace(b'"ads"', b'"c1"', 1))  # a key twice
    assert len(asked) == 1
