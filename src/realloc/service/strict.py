"""JSON without surprises: UTF-8, every key once, finite numbers, bounded depth. What the usual parsers let pass is refused."""

import json
import re
from typing import Any

from realloc.service.refusal import Refusal

DEEPEST = 16
LONGEST_NUMBER = 40  # signs
OPENING = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


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
    check_depth(body)
    try:
        found = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_constant, parse_float=_float, parse_int=_whole
        )
    except Refusal:
        raise
    except (ValueError, RecursionError):
        raise refuse("Expected JSON, but the body cannot be parsed.") from None
    if type(found) is not dict:
        raise refuse('Expected a JSON object such as {"rows": [...]}, got something else.')
    return found


def check_depth(body: bytes) -> None:
    """Refuse what is nested too deep before anything recurses into it."""
    depth = 0
    for found in OPENING.finditer(body):
        sign = found[0][:1]
        if sign in b"[{":
            depth += 1
            if depth > DEEPEST:
                raise refuse(f"Expected at most {DEEPEST} levels of JSON, got more.")
        elif sign != b'"':
            depth -= 1


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
    if len(token) > 18:
        raise refuse("Expected whole numbers of at most 18 signs in JSON.")
    return int(token)
