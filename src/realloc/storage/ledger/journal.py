"""Decisions of a service go into a journal first, then, many at a time, into an entry of the log.

A journal is a file of frames: length, CRC-32, bytes of Arrow's stream format. `write` returns once
the frame is on the disk. A journal whose process has ended is taken over by whoever opens the log
next: what is whole in it becomes an entry; a torn last frame was never acknowledged and is dropped.
"""

import logging
import os
import struct
import threading
import time
import uuid
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import lock_descriptor

from realloc.base import disk
from realloc.base.errors import LedgerError
from realloc.base.strict_json import parse_object
from realloc.base.validation import from_table
from realloc.logs import Schema
from realloc.storage.ledger.entry import Entry, parse_entry
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.ledger.rows import PackedRows, unpack_plain

log = logging.getLogger("realloc.storage.ledger")

JOURNAL = "journal"
PLAIN = b"{"  # how a frame of plain rows begins
HEADER = struct.Struct("<II")
MOST_FULL = 4  # journals
NO_ENTRY = "a journal cannot be added to the decision log yet: %s"


class Recorder:
    """Adds small batches of rows (`rows.log_rows`) to a running service's log, from any thread.

    `entry`: what the entries say about who decides (number, previous, segments and rows are filled
    in). `aside`: a full journal waits for whoever calls `flush_if_old`, and no answer waits for it.
    """

    def __init__(
        self,
        ledger: Ledger,
        entry: Entry,
        *,
        most_rows: int = 50_000,
        most_seconds: float = 300.0,
        aside: bool = False,
    ) -> None:
        self.ledger = ledger
        self.entry = entry
        self.aside = aside
        self.most_rows = most_rows
        self.most_seconds = most_seconds
        self._lock = threading.Lock()
        self._making = threading.Lock()
        # Journals that are to become entries, the oldest first.
        self._full: list[tuple[int, Path]] = []
        self._handle: int | None = None
        self._path: Path | None = None
        self._rows = 0
        self._since = 0.0
        recover(ledger)

    def write(self, *parts: pa.Table | PackedRows) -> None:
        """Write rows to the journal, or what `pack_plain` made of them, at one go.

        If this raises, nothing may be answered.
        """
        content = b"".join(
            _pack(part) if isinstance(part, pa.Table) else _frame(part.content)
            for part in parts
        )
        with self._lock:
            try:
                handle = self._open()
                begun = os.lseek(handle, 0, os.SEEK_END)
                try:
                    disk.write_all(handle, content)
                    os.fsync(handle)
                except OSError:
                    # a frame that was not acknowledged is not there
                    os.ftruncate(handle, begun)
                    raise
            except OSError as problem:
                raise LedgerError(
                    f"Cannot write to the decision log {str(self.ledger.path)!r}: "
                    f"{problem.strerror}."
                ) from problem
            self._rows += sum(part.num_rows for part in parts)
            if (
                self._rows >= self.most_rows
                or time.monotonic() - self._since >= self.most_seconds
            ):
                self._end_journal()

    def flush_if_old(self) -> None:
        """Make entries of full journals, and of one whose first row has waited `most_seconds`."""
        with self._lock:
            if (
                self._handle is not None
                and time.monotonic() - self._since >= self.most_seconds
            ):
                self._end_journal()
        self._make_entries()

    def close(self) -> None:
        """Make entries of what is left."""
        self._make_entries()
        with self._lock:
            self._flush()

    def change(self, entry: Entry) -> None:
        """Another version decides from now on; what was decided before becomes its own entry."""
        with self._lock:
            self._end_journal()
            self.entry = entry

    def _open(self) -> int:
        if self._handle is None:
            folder = self.ledger.path / JOURNAL
            self.ledger.make(folder)
            self._path = folder / f"{uuid.uuid4().hex}.log"
            self._handle = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666
            )
            lock_descriptor(self._handle, blocking=False)  # says that this process lives
            disk.write_all(self._handle, _frame(replace(self.entry, number=0).pack()))
            disk.sync_folder(folder)
            self._rows = 0
            self._since = time.monotonic()
        return self._handle

    def _end_journal(self) -> None:
        """The next row begins another one. If too many wait, nobody makes entries: do it here."""
        if not self.aside or len(self._full) >= MOST_FULL:
            self._flush_or_leave()
        elif self._handle is not None and self._path is not None:
            self._full.append((self._handle, self._path))
            self._handle = self._path = None

    def _make_entries(self) -> None:
        """Make entries of full journals while others write; what fails is left for `recover`."""
        with self._making:
            while self._full:
                handle, path = self._full[0]
                try:
                    _to_entry(self.ledger, path)
                except Exception as problem:
                    log.error(NO_ENTRY, problem)
                os.close(handle)
                with self._lock:
                    self._full.pop(0)

    def _flush_or_leave(self) -> None:
        """Make an entry, or leave the journal for `recover`: its rows are safe."""
        try:
            self._flush()
        except Exception as problem:
            log.error(NO_ENTRY, problem)
            if self._handle is not None:
                os.close(self._handle)
            self._handle = self._path = None

    def _flush(self) -> None:
        if self._handle is None or self._path is None:
            return
        handle = self._handle
        path = self._path
        _to_entry(self.ledger, path)
        self._handle = self._path = None
        os.close(handle)


def recover(ledger: Ledger) -> int:
    """Make entries of journals whose process has ended; how many there were."""
    count = 0
    for path in sorted((ledger.path / JOURNAL).glob("*.log")):
        with suppress(FileNotFoundError):  # somebody else was faster
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                if lock_descriptor(handle, blocking=False):
                    _to_entry(ledger, path)
                    count += 1
            finally:
                os.close(handle)
    return count


def _to_entry(ledger: Ledger, path: Path) -> None:
    """Make an entry of a journal and remove it; if stopped in between, the entry is found."""
    frames = list(read_frames(path))
    values = parse_object(frames[0]) if frames else {}
    # Rows of other types than the rest have files of their own.
    alike: dict[str, list[pa.Table]] = {}
    for table in _tables(frames[1:], values):
        alike.setdefault(str(table.schema), []).append(table)
    if alike:
        del values["digest"]
        entry = parse_entry(values | {"segments": (), "run": path.stem})
        ledger.append(entry, map(_pack_segment, alike.values()))
    disk.remove_file(path)


def _pack_segment(tables: list[pa.Table]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.concat_tables(tables), sink, compression="zstd", write_page_checksum=True
    )
    return sink.getvalue().to_pybytes()


def _tables(frames: list[bytes], entry: dict[str, Any]) -> Iterator[pa.Table]:
    """The rows of frames in their order."""
    for is_plain, group in groupby(frames, key=lambda frame: frame.startswith(PLAIN)):
        if is_plain:
            schema = from_table(Schema, entry["schema"], "the decision log")
            yield from unpack_plain(list(group), schema)
        else:
            yield from (pa.ipc.open_stream(frame).read_all() for frame in group)


def read_frames(path: Path) -> Iterator[bytes]:
    """Every whole frame up to the first that is not."""
    content = path.read_bytes()
    place = 0
    while place + HEADER.size <= len(content):
        size, check = HEADER.unpack_from(content, place)
        frame = content[place + HEADER.size : place + HEADER.size + size]
        if len(frame) < size or zlib.crc32(frame) != check:
            return
        yield frame
        place += HEADER.size + size


def _pack(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return _frame(sink.getvalue().to_pybytes())


def _frame(content: bytes) -> bytes:
    return HEADER.pack(len(content), zlib.crc32(content)) + content
