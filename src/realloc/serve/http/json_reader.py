"""Strict JSON of a request: UTF-8, every key once, finite numbers of bounded length, bounded depth.

orjson reads the body. It lets the last of two equal keys win and turns an integer beyond 64 bits
into a float, so keys and lengths of numbers are checked in the bytes (docs/decisions/0014).
"""

import re
from typing import Any

import orjson

from realloc.serve.http.http_error import HttpError

CONTAINERS = frozenset({dict, list})
MAX_DEPTH = 16
MAX_NUMBER = 40  # characters
MAX_INTEGER = 18  # characters
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
NUMBER = re.compile(rb"-?[0-9][-+.0-9eE]*")
# Every byte that a number may hold becomes 0, any other a blank.
NUMBER_BYTES = bytes(48 if byte in b"+-.0123456789eE" else 32 for byte in range(256))
# The same for integers; what makes a float or ends a string stays as it is.
INTEGER_BYTES = bytes(
    48 if byte in b"-0123456789" else byte if byte in b'".+eE' else 32
    for byte in range(256)
)


def parse(body: bytes) -> dict[str, Any]:
    """Read the object that a request's body holds."""
    try:
        table = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise _bad_json(_why_unreadable(body, problem)) from None
    if type(table) is not dict:
        raise _bad_json(
            'Expected a JSON object such as {"rows": [...]}, got something else.'
        )
    keys = _count_keys(table)
    # Strings may hold colons and digits: only where the quick look finds too many are they cut out.
    if body.count(b":") != keys or _may_hold_long_number(body):
        bare = STRING.sub(b'""', body)
        if bare.count(b":") != keys:
            raise _bad_json(
                "Expected every key of a JSON object once, but one comes twice."
            )
        for number in NUMBER.findall(bare):
            is_integer = not number.strip(b"-0123456789")
            if len(number) > (MAX_INTEGER if is_integer else MAX_NUMBER):
                raise _bad_json(
                    f"Expected integers of at most {MAX_INTEGER} characters and other numbers of "
                    f"at most {MAX_NUMBER} in JSON."
                )
    return table


def _count_keys(table: dict[str, Any]) -> int:
    keys = 0
    level: list[Any] = [table]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for outer in level:
            values = outer
            if type(outer) is dict:
                keys += len(outer)
                values = outer.values()
            if not CONTAINERS.isdisjoint(map(type, values)):
                inner += [value for value in values if type(value) in CONTAINERS]
        if not inner:
            return keys
        level = inner
    raise _bad_json(f"Expected at most {MAX_DEPTH} levels of JSON, got more.")


def _may_hold_long_number(body: bytes) -> bool:
    long_number = b"0" * (MAX_NUMBER + 1)
    long_integer = b" " + b"0" * (MAX_INTEGER + 1)
    return long_number in body.translate(NUMBER_BYTES) or long_integer in body.translate(
        INTEGER_BYTES
    )


def _why_unreadable(body: bytes, problem: orjson.JSONDecodeError) -> str:
    if body.startswith(b"\xef\xbb\xbf"):
        return "Expected JSON without a byte-order mark."
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return "Expected JSON in UTF-8, got another encoding."
    if text.startswith(("NaN", "Infinity", "-Infinity"), problem.pos):
        return "Expected finite numbers in JSON, got NaN or Infinity."
    return (
        f"Expected JSON, but it cannot be parsed at character {problem.pos}: {problem.msg}."
    )


def _bad_json(sentence: str) -> HttpError:
    return HttpError(400, "bad_json", sentence)
