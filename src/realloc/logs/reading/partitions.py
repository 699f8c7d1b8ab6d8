"""Folders named after a value, `date=2026-01-31/`: the value is a column of every file below."""

from collections.abc import Sequence
from urllib.parse import unquote

import pyarrow as pa

from realloc.base.errors import LogError
from realloc.logs.reading.arrow import compute as pc

NOTHING = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write a missing value


def read_keys(folders: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """Names and values of a path's folders, decoded; folders without `=` say nothing.

    >>> read_keys(["logs", "shop=a%20b", "date=2026-01-31"])
    (('shop', 'a b'), ('date', '2026-01-31'))
    """
    pairs = [folder.split("=", 1) for folder in folders if "=" in folder]
    return tuple(
        (unquote(name), None if value == NOTHING else unquote(value)) for name, value in pairs
    )


def check_key(label: str, name: str, value: str | None, column: pa.Array) -> None:
    """Refuse a file whose own column says something else than its folder."""
    text = column.cast(pa.string())
    midnight = pc.utf8_rtrim(
        pc.replace_substring_regex(text, pattern=r"[T ]00:00:00(\.0+)?$", replacement=""), " "
    )
    wanted = pa.scalar(value, pa.string())
    agrees = pc.is_null(text) if value is None else pc.fill_null(pc.equal(midnight, wanted), False)
    if not pc.all(agrees).as_py():
        raise LogError(
            f"Expected {name!r} to be {value!r} in {label}, as its folder says, but the file's own column says otherwise. "
            "Correct one of them."
        )
