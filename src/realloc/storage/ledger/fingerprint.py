"""A digest of each decision's inputs: 16 bytes that change with any value that the model reads."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs import Logs

BYTES = 16  # chance that two of a billion rows agree by accident: 1e-21


def fingerprint(logs: Logs, columns: Iterable[str] = ()) -> list[bytes]:
    """BLAKE2b of every row's columns in any order; by default of what a decision is made from."""
    names = sorted(columns or input_names(logs))
    start = hashlib.blake2b(digest_size=BYTES, person=b"realloc inputs 1")
    for name in names:
        start.update(f"{len(name.encode())}:{name}".encode())
    if not len(logs):
        return []
    blocks = _blocks([logs.table[name] for name in names])

    def digest(row: bytes) -> bytes:
        total = start.copy()
        total.update(row)
        return total.digest()

    return [digest(row) for row in blocks.tolist()]


def input_names(logs: Logs) -> dict[str, None]:
    """Columns that a decision is made from, in their order."""
    schema = logs.schema
    budget = () if schema.budget is None else (schema.budget,)
    used = (schema.unit, schema.time, *schema.channels, *budget, *logs.features)
    return dict.fromkeys(used)


def _blocks(columns: list[pa.ChunkedArray]) -> NDArray[np.void]:
    """The bytes of every row: for each column a flag for a missing value, then the value."""
    parts = [_part(column) for column in columns]
    layout: list[tuple[str, str]] = []
    for place, (_, form) in enumerate(parts):
        layout += [(f"m{place}", "u1"), (f"v{place}", form)]
    rows = np.zeros(len(columns[0]), np.dtype(layout))
    for place, (value, form) in enumerate(parts):
        missing = rows[f"m{place}"]
        if columns[place].null_count:
            missing[:] = columns[place].is_null().to_numpy()
        if form == "<f8":
            none = np.isnan(value)
            missing[none] = 1
            rows[f"v{place}"] = np.where(none, 0.0, value + 0.0)  # −0 is 0
        else:
            rows[f"v{place}"] = value
    return rows.view(np.dtype((np.void, rows.dtype.itemsize)))


def _part(column: pa.ChunkedArray) -> tuple[NDArray[Any], str]:
    """The values of a column, and the form of their bytes."""
    kind = column.type
    if (
        pa.types.is_dictionary(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    ):
        return _words(column), f"V{BYTES}"
    if pa.types.is_temporal(kind):
        return column.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(
            0
        ).to_numpy(), "<i8"
    if pa.types.is_boolean(kind):
        column = column.fill_null(False)
    return column.to_numpy().astype("<f8"), "<f8"


def _words(column: pa.ChunkedArray) -> NDArray[np.void]:
    """Text, or whole-number ids, as the digest of each word."""
    coded = column.combine_chunks()
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    words = [
        hashlib.blake2b(str(word).encode(), digest_size=BYTES).digest()
        for word in coded.dictionary.to_pylist()
    ]
    table = np.frombuffer(b"".join([*words, bytes(BYTES)]), np.dtype((np.void, BYTES)))
    return table[coded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)]
