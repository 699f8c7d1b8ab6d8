"""Rows in parts of a fixed number of rows, by their place in the input: how the files were written never changes the cut."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from realloc.base.errors import LogError
from realloc.logs.reading.source import Source

PART_ROWS = 16_384


@dataclass(frozen=True)
class Part:
    """Consecutive rows, counted from 0."""

    number: int
    first: int
    source: Source


def cut(opened: Source, names: list[str], rows: int = PART_ROWS) -> Iterator[Part]:
    """The named columns in parts of exactly `rows` rows, but for the last; memory holds a few parts at a time."""
    types = pa.schema([opened.columns.field(name) for name in names])
    waiting, number = types.empty_table(), 0
    for piece in opened.pieces(names):
        waiting = pa.concat_tables([waiting, _cast(piece.batch, types)])
        while waiting.num_rows >= rows:
            yield _part(opened, waiting.slice(0, rows), number, rows)
            waiting, number = waiting.slice(rows), number + 1
    if waiting.num_rows or number == 0:
        yield _part(opened, waiting, number, rows)


def _part(opened: Source, table: pa.Table, number: int, rows: int) -> Part:
    first = number * rows
    label = opened.files[0].label if len(opened.files) == 1 else "the input,"
    place = (
        (f"{label} line", first + 2)
        if opened.text and len(opened.files) == 1
        else (f"{label} row", first + 1)
    )
    table = table.combine_chunks()  # or a slice would carry its whole piece along
    return Part(
        number, first, Source(table.schema, table.num_rows, opened.text, frame=table, place=place)
    )


def _cast(batch: pa.RecordBatch, types: pa.Schema) -> pa.Table:
    """Files may spell a type differently (int32, int64): all rows get that of the first file."""
    table = pa.Table.from_batches([batch])
    try:
        return table if table.schema == types else table.cast(types)
    except (pa.ArrowException, ValueError) as problem:
        raise LogError(
            f"Expected one type per column in every file, but one cannot be converted to that of the first file: {problem}."
        ) from problem


def fingerprint_files(opened: Source) -> str:
    """SHA-256 of the files' bytes in their order: the same rows in other files are another input."""
    digests = []
    for file in opened.files:
        try:
            with file.path.open("rb") as stream:
                digests.append([hashlib.file_digest(stream, "sha256").hexdigest(), list(file.keys)])
        except OSError as problem:
            raise LogError(
                f"Expected to read {file.label!r}, but it failed: {problem.strerror}."
            ) from problem
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def stamps(opened: Source) -> list[tuple[str, int, int, int]]:
    """Which files these are, to notice that one was replaced while it was read."""
    return [(str(path), *_stamp(path)) for path in (file.path for file in opened.files)]


def _stamp(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
