"""The usual body, read quickly: what is beyond doubt to be read as `strict.parse` would. Whatever may be odd goes there.

orjson takes the last of two equal keys and makes a float of a whole number that is too long, so both are looked for in the bytes.
Each look may doubt a sound body (a colon inside a text), and never trusts an odd one.
"""

from typing import Any

import orjson

from realloc.serve.http import strict_json as strict

BEFORE_COLON = (b'":', b" :", b"\t:", b"\n:", b"\r:")  # what may stand before the colon of a key
# Every other byte of a number of 41 signs. Two numbers are never taken for one: two other bytes stand between them, as in `,"`.
LONG = b"0" * (strict.LONGEST_NUMBER // 2)
DIGITS = bytes(
    48 if sign in b"-0123456789" else sign if sign in b'".+eE' else 32 for sign in range(256)
)  # what a whole number is made of becomes 0; quotes and what makes it a float stay, the rest becomes a blank
LONG_WHOLE = b" " + b"0" * (strict.LONGEST_WHOLE + 1)


def parse(body: bytes) -> dict[str, Any]:
    """The table that a body holds, or the refusal of `strict.parse`."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return strict.parse(body)
    return found if _is_usual(found, body) else strict.parse(body)


def _is_usual(found: Any, body: bytes) -> bool:
    """Whether these are rows of plain values alone, every key once, no number too long."""
    if type(found) is not dict or found.keys() != {"rows"} or type(found["rows"]) is not list:
        return False
    rows = found["rows"]
    if (
        set(map(type, rows)) != {dict} or body.count(b"[") != 1
    ):  # an object inside of a row has keys that are counted below
        return False
    return _every_key_once(1 + sum(map(len, rows)), body) and not _long_number(body)


def _every_key_once(kept: int, body: bytes) -> bool:
    """Of as many keys as there are at most in the body, all were kept."""
    return kept == body.count(b":") or kept == sum(body.count(two) for two in BEFORE_COLON)


def _long_number(body: bytes) -> bool:
    return LONG in body[::2].translate(strict.NUMBER) or LONG_WHOLE in body.translate(DIGITS)
