"""Strict JSON: UTF-8, every key once, finite numbers, bounded depth."""

import json
import reprlib
from typing import Any


def parse_object(content: bytes, deepest: int = 32) -> dict[str, Any]:
    """Read the JSON object in `content`; raises ValueError, whose text says what is wrong.

    >>> parse_object(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' comes twice
    """
    try:
        table = json.loads(
            content.decode(), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
        if type(table) is not dict:
            raise ValueError(f"it holds no object but {type(table).__name__}")
        _check_depth(table, deepest)
        to_text(table).encode()  # fails for 1e999 and half a surrogate pair
    except RecursionError:
        raise ValueError(f"it is nested deeper than {deepest} levels") from None
    return table


def to_text(value: Any) -> str:
    """Write plain values in the one spelling that digests are made of: sorted keys, no NaN."""
    return json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False)


def _check_depth(table: dict[str, Any], deepest: int) -> None:
    level: list[Any] = [table]
    for _ in range(deepest):
        items = [
            item
            for value in level
            for item in (value.values() if type(value) is dict else value)
        ]
        level = [item for item in items if type(item) is dict or type(item) is list]
    if level:
        raise RecursionError


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key {reprlib.repr(key)} comes twice")
        table[key] = value
    return table


def _refuse_constant(token: str) -> None:
    raise ValueError(f"{token} is not a number")
