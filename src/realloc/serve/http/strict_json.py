"""JSON without surprises: UTF-8, every key once, finite numbers, bounded depth. What the usual parsers let pass is refused."""

import json
from typing import Any

from realloc.serve.http.http_error import Refusal

DEEPEST = 16
LONGEST_NUMBER = 40  # signs
LONGEST_WHOLE = 18
NUMBER = bytes(
    48 if sign in b"+-.0123456789eE" else 32 for sign in range(256)
)  # what may be part of a number becomes 0
LONG = b"0" * (LONGEST_NUMBER + 1)


def refuse(sentence: str) -> Refusal:
    """Of a body that is no JSON of ours."""
    return Refusal(400, "bad_json", sentence)


def parse(body: bytes) -> dict[str, Any]:
    """The table that a body holds."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise refuse("Expected JSON in UTF-8, got another encoding.") from None
    if text.startswith("\ufeff"):
        raise refuse("Expected JSON without a byte-order mark.")
    # Rows are many and their numbers are checked column by column; what else a request says is read number by number.
    strict = LONG in body.translate(NUMBER)
    try:
        found = _load(text, strict)
        if not strict and found.keys() != {"rows"}:
            found = _load(text, strict=True)
    except Refusal:
        raise
    except (ValueError, RecursionError):
        raise refuse("Expected JSON, but the body cannot be parsed.") from None
    return found


def _load(text: str, strict: bool) -> dict[str, Any]:
    found = json.loads(
        text,
        object_pairs_hook=_unique,
        parse_constant=_constant,
        parse_float=_float if strict else None,
        parse_int=_whole,
    )
    if type(found) is not dict:
        raise refuse('Expected a JSON object such as {"rows": [...]}, got something else.')
    check_depth(found)
    return found


def check_depth(found: dict[str, Any]) -> None:
    """Refuse what is nested too deep before anything of ours recurses into it; the parser itself stops at 1,000 levels."""
    level: list[Any] = [found]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in (dict, list)
        ]
        if not level:
            return
    raise refuse(f"Expected at most {DEEPEST} levels of JSON, got more.")


def check_text(text: str) -> str:
    """A key or value without half characters and control characters."""
    if not text.isprintable():
        raise refuse("Expected text without control characters and half surrogate pairs.")
    return text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise refuse("Expected every key of a JSON object once, but one comes twice.")
    return table


def _constant(token: str) -> Any:
    raise refuse("Expected finite numbers in JSON, got NaN or Infinity.")


def _float(token: str) -> float:
    value = float(token)
    if len(token) > LONGEST_NUMBER or value in (float("inf"), float("-inf")):
        raise refuse(f"Expected finite numbers of at most {LONGEST_NUMBER} signs in JSON.")
    return value + 0.0  # −0 is 0


def _whole(token: str) -> int:
    if len(token) > LONGEST_WHOLE:
        raise refuse(f"Expected whole numbers of at most {LONGEST_WHOLE} signs in JSON.")
    return int(token)
