"""Rows in chunks, by their place in the input, however the input files were written."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from realloc.base.artifact import sha256
from realloc.base.errors import LogError
from realloc.logs.reading.source import Source
from realloc.storage.ledger.entry import sha256_file

CHUNK_ROWS = 16_384


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of the input; `first` is the place of the first one, counted from 0."""

    number: int
    first: int
    source: Source


def cut(
    opened: Source, names: list[str], starts: Sequence[int], numbers: range | None = None
) -> Iterator[Chunk]:
    """Cut the named columns into chunks that begin at `starts`; memory holds a few at a time.

    Of Parquet, only row groups with rows of the wanted chunks are read.
    """
    numbers = range(len(starts)) if numbers is None else numbers
    if not numbers:
        return
    types = pa.schema([opened.columns.field(name) for name in names])
    waiting = types.empty_table()
    number = numbers.start
    sizes = np.diff(starts).tolist()
    for piece in opened.pieces(names, starts[number]):
        waiting = pa.concat_tables([waiting, _cast(piece.batch, types)])
        while number < len(sizes) and waiting.num_rows >= sizes[number]:
            size = sizes[number]
            yield _make_chunk(opened, waiting.slice(0, size), number, starts[number])
            waiting = waiting.slice(size)
            number += 1
            if number == numbers.stop:
                return
    yield _make_chunk(opened, waiting, number, starts[number])


def _make_chunk(opened: Source, table: pa.Table, number: int, first: int) -> Chunk:
    single = len(opened.files) == 1
    label = str(opened.files[0].path) if single else "the input,"
    place = (f"{label} row", first + 1)
    if single and opened.text:
        place = (f"{label} line", first + 2)
    table = table.combine_chunks()  # or a slice would carry its whole piece along
    source = Source(table.schema, table.num_rows, opened.text, frame=table, place=place)
    return Chunk(number, first, source)


def _cast(batch: pa.RecordBatch, types: pa.Schema) -> pa.Table:
    """Files may spell a type differently (int32, int64): all rows get that of the first file."""
    table = pa.Table.from_batches([batch])
    try:
        return table if table.schema == types else table.cast(types)
    except (pa.ArrowException, ValueError) as problem:
        raise LogError(
            "Expected one type per column in every file, but one cannot be converted "
            f"to that of the first file: {problem}."
        ) from problem


def fingerprint_files(opened: Source) -> str:
    """SHA-256 of the files' bytes in order: the same rows in other files are another input."""
    digests = []
    for file in opened.files:
        try:
            digests.append([sha256_file(file.path), list(file.keys)])
        except OSError as problem:
            raise LogError(
                f"Cannot read {str(file.path)!r}: {problem.strerror}."
            ) from problem
    return sha256(json.dumps(digests).encode())


def identify_files(opened: Source) -> list[tuple[str, int, int, int]]:
    """Tell which files these are, to notice that one was replaced while it was read."""
    stats = [(str(file.path), file.path.stat()) for file in opened.files]
    return [(path, stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in stats]
