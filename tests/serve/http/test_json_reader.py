"""Bodies are read, and refused, as the strict reader of files does it, type by type."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realloc.base.strict_json import parse_object
from realloc.serve.http.http_error import HttpError
from realloc.serve.http.json_reader import MAX_DEPTH, MAX_INTEGER, MAX_NUMBER, parse
from tests.serve.http.asking import some_rows
from tests.serve.http.fuzz import ROUTES, mutate, sound, swap_values
from tests.serve.http.test_app import BAD

COUNT = 6000


def read(body):
    """The object with types and the order of keys; None where the body is refused."""
    try:
        return repr(parse(body))
    except HttpError as error:
        return None if error.code == "bad_json" else error.code


def reference(body):
    """The same by the standard library, slowly: every token through a function."""

    def limited(read, limit):
        def number(token):
            if len(token) > limit:
                raise ValueError
            return read(token)

        return number

    try:
        table = parse_object(body, MAX_DEPTH)
        json.loads(
            body,
            parse_int=limited(int, MAX_INTEGER),
            parse_float=limited(float, MAX_NUMBER),
        )
    except ValueError:
        return None
    return repr(table)


def rows_of(*values, keys="abcdefgh"):
    """One row with these texts as values."""
    listed = ", ".join(
        f'"{key}": {value}' for key, value in zip(keys, values, strict=False)
    )
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
        "5e-324",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "0.1",
        "9007199254740993.0",
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
def test_odd_bodies_are_read_as_the_reference_reads_them(body):
    assert read(body) == reference(body)


def test_thousands_of_broken_bodies_are_read_as_the_reference_reads_them():
    draw = random.Random(5)
    accepted = 0
    for _ in range(COUNT):
        request = sound("batch")
        if draw.random() < 0.5:
            request = swap_values(draw, sound(draw.choice(ROUTES)))
        separators = draw.choice([(", ", ": "), (",", ":"), (" ,", " :"), (",\n", "\t:")])
        text = json.dumps(request, ensure_ascii=draw.random() < 0.5, separators=separators)
        body = text.encode("utf-8", "surrogatepass")
        body = mutate(draw, body) if draw.random() < 0.8 else body
        table = read(body)
        assert table == reference(body), body
        accepted += table is not None
    assert COUNT / 5 < accepted < COUNT * 4 / 5


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
    st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=5), max_size=4),
    st.booleans(),
)
def test_rows_of_any_values_are_read_as_the_reference_reads_them(rows, plain):
    body = json.dumps({"rows": rows}, ensure_ascii=plain).encode("utf-8", "surrogatepass")
    assert read(body) == reference(body)


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":"), (" , ", " : ")])
def test_colons_and_digits_in_texts_are_no_keys_and_no_numbers(separators):
    rows = some_rows(40)
    rows[3] |= {"date": "2026-01-01T09:30:00", "c1": None, "item_id": "9" * 50, "c2": 3}
    body = json.dumps({"rows": rows}, separators=separators).encode()
    assert parse(body) == {"rows": rows}
    with pytest.raises(HttpError, match="one comes twice"):
        parse(body.replace(b'"ads"', b'"c1"', 1))


SENTENCES = {
    "a key twice": "every key of a JSON object once",
    "19 signs": "integers of at most 18 characters and other numbers of at most 40",
    "a deep list inside": "at most 16 levels",
    "infinite": r"cannot be parsed at character \d+: number is infinity",
    "half a number": r"cannot be parsed at character \d+",
    "overlong UTF-8": "UTF-8, got another encoding",
    "NaN": "finite numbers in JSON, got NaN or Infinity",
    "-Infinity": "finite numbers in JSON, got NaN or Infinity",
    "byte-order mark": "without a byte-order mark",
    "a list": "JSON object such as",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_what_is_wrong_is_said(name):
    with pytest.raises(HttpError, match=SENTENCES[name]):
        parse(ODD[name] if name in ODD else BAD[name][0])
