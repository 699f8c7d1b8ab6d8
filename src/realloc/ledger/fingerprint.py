"""A digest of what each decision was made from: 16 bytes that change with any value the model reads, and with nothing else."""

import hashlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs import Logs

BYTES = 16  # chance that two of a billion rows agree by accident: 1e-21


def fingerprint(logs: Logs) -> list[bytes]:
    """BLAKE2b of unit, time, channels, budget and features of every row, by name, whatever the order of columns."""
    schema = logs.schema
    budget = () if schema.budget is None else (schema.budget,)
    names = sorted({schema.unit, schema.time, *schema.channels, *budget, *logs.features})
    start = hashlib.blake2b(digest_size=BYTES, person=b"realloc inputs 1")
    for name in names:
        start.update(f"{len(name.encode())}:{name}".encode())
    if not len(logs):
        return []
    blocks = np.concatenate([_block(logs.table[name]) for name in names], axis=1)

    def digest(row: NDArray[np.uint8]) -> bytes:
        total = start.copy()
        total.update(row.data)
        return total.digest()

    return [digest(row) for row in np.ascontiguousarray(blocks)]


def _block(column: pa.ChunkedArray) -> NDArray[np.uint8]:
    """A column as bytes (n, width): a flag for missing values, then the value."""
    kind, n = column.type, len(column)
    missing = np.zeros((n, 1), np.uint8)
    if column.null_count:
        missing[:, 0] = column.is_null().to_numpy()
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        value = _words(column)
    elif pa.types.is_temporal(kind):
        value = column.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0).to_numpy().astype("<i8")
    elif pa.types.is_boolean(kind):
        value = column.fill_null(False).to_numpy().astype("<f8")
    else:
        value = column.to_numpy().astype("<f8") + 0.0  # −0 is 0
        none = np.isnan(value)
        missing[none], value[none] = 1, 0.0
    return np.concatenate([missing, np.ascontiguousarray(value).view(np.uint8).reshape(n, -1)], axis=1)


def _words(column: pa.ChunkedArray) -> NDArray[np.uint8]:
    """Text, or whole-number ids, as the digest of each word."""
    coded = column.combine_chunks()
    if isinstance(coded, pa.ChunkedArray):  # an empty one stays chunked
        coded = pa.concat_arrays(coded.chunks) if coded.num_chunks else pa.array([], column.type)
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    words = [hashlib.blake2b(str(word).encode(), digest_size=BYTES).digest() for word in coded.dictionary.to_pylist()]
    table = np.frombuffer(b"".join([*words, bytes(BYTES)]), np.uint8).reshape(-1, BYTES)
    return table[coded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)]
