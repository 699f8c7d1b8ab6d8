"""Decisions of a service on their way into the log: first into a journal, then, many at a time, into an entry.

A journal is a file of frames: length, CRC-32, bytes of Arrow's stream format. `write` returns once the frame is on the disk
(`sync=False`: once it outlives the process). A journal whose process has ended is taken over by whoever opens the log next:
what is whole in it becomes an entry; a torn last frame was never acknowledged and is dropped.
"""

import json
import logging
import os
import struct
import sys
import threading
import time
import uuid
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base import disk
from realloc.base.errors import LedgerError
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.ledger import Ledger

log = logging.getLogger("realloc.storage.ledger")

JOURNAL = "journal"
HEADER = struct.Struct("<II")
MOST_FULL = 4  # journals
NO_ENTRY = "no entry of the decision log can be made of a journal yet: %s"


class Recorder:
    """Adds small batches of rows (`rows.log_rows`) to the log of a running service; one for each process, any threads.

    `entry`: what the entries say about who decides (number, previous, segments and rows are filled in). `aside`: a full journal
    waits for whoever calls `flush_if_old`, and no answer waits for it to become an entry.
    """

    def __init__(
        self,
        ledger: Ledger,
        entry: Entry,
        *,
        most_rows: int = 50_000,
        most_seconds: float = 300.0,
        sync: bool = True,
        aside: bool = False,
    ) -> None:
        self.ledger, self.entry, self.sync, self.aside = ledger, entry, sync, aside
        self.most_rows, self.most_seconds = most_rows, most_seconds
        self._lock, self._making = threading.Lock(), threading.Lock()
        self._full: list[
            tuple[int, Path]
        ] = []  # journals that are to become entries, the oldest first
        self._handle: int | None = None
        self._path: Path | None = None
        self._rows, self._since = 0, 0.0
        recover(ledger)

    def write(self, rows: pa.Table) -> None:
        """Rows are in the journal when this returns; where they cannot be, it raises and nothing may be answered."""
        content = _pack(rows)
        with self._lock:
            try:
                handle = self._open()
                begun = os.lseek(handle, 0, os.SEEK_END)
                try:
                    _write_all(handle, content)
                    if self.sync:
                        os.fsync(handle)
                except OSError:
                    os.ftruncate(handle, begun)  # a frame that was not acknowledged is not there
                    raise
            except OSError as problem:
                raise LedgerError(
                    f"Expected to write to the decision log {str(self.ledger.path)!r}, but it failed: {problem.strerror}."
                ) from problem
            self._rows += rows.num_rows
            if self._rows >= self.most_rows or time.monotonic() - self._since >= self.most_seconds:
                self._end_journal()

    def flush(self) -> None:
        """Make entries of what the journals hold."""
        self._make_entries()
        with self._lock:
            self._flush()

    def flush_if_old(self) -> None:
        """Make entries of full journals, and of one whose first row has waited for `most_seconds`."""
        with self._lock:
            if self._handle is not None and time.monotonic() - self._since >= self.most_seconds:
                self._end_journal()
        self._make_entries()

    def close(self) -> None:
        """The same, at the end."""
        self.flush()

    def change(self, entry: Entry) -> None:
        """Another version decides from now on: what was decided before becomes an entry of its own."""
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
            _hold(self._handle)
            _write_all(self._handle, _frame(replace(self.entry, number=0).pack()))
            disk.sync_folder(folder)
            self._rows, self._since = 0, time.monotonic()
        return self._handle

    def _end_journal(self) -> None:
        """The next row begins another one. Where too many wait, nobody makes entries of them: then it is done here."""
        if not self.aside or len(self._full) >= MOST_FULL:
            self._flush_or_leave()
        elif self._handle is not None and self._path is not None:
            self._full.append((self._handle, self._path))
            self._handle = self._path = None

    def _make_entries(self) -> None:
        """Of full journals, while others write; one of which none can be made is left for `recover`."""
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
        """Rows are safe in the journal: where no entry can be made of it, it is left for `recover`, and answers go on."""
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
        handle, path = self._handle, self._path
        _to_entry(self.ledger, path)
        self._handle = self._path = None
        os.close(handle)


def recover(ledger: Ledger) -> int:
    """Make entries of journals whose process has ended; how many there were."""
    folder, found = ledger.path / JOURNAL, 0
    for path in sorted(folder.glob("*.log")) if folder.is_dir() else ():
        with suppress(FileNotFoundError):  # somebody else was faster
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                if _hold(handle):
                    _to_entry(ledger, path)
                    found += 1
            finally:
                os.close(handle)
    return found


def _to_entry(ledger: Ledger, path: Path) -> None:
    """The rows of a journal as one entry; then the journal goes. Stopped in between, the entry is found by its run."""
    frames = list(read_frames(path))
    alike: dict[
        str, list[pa.Table]
    ] = {}  # rows of other types than the rest have files of their own
    for frame in frames[1:]:
        table = pa.ipc.open_stream(frame).read_all()
        alike.setdefault(str(table.schema), []).append(table)
    run = path.stem
    for left in path.parent.glob(f"{run}.*.parquet"):
        disk.remove_file(left)
    files = [path.with_suffix(f".{number}.parquet") for number in range(len(alike))]
    if files and ledger.find(run) is None:
        for file, tables in zip(files, alike.values(), strict=True):
            sink = pa.BufferOutputStream()
            pq.write_table(
                pa.concat_tables(tables), sink, compression="zstd", write_page_checksum=True
            )
            disk.write_new_file(file, sink.getvalue().to_pybytes())
        ledger.append(_entry_of(frames[0], run), files)
        for file in files:
            disk.remove_file(file)
    disk.remove_file(path)


def _entry_of(frame: bytes, run: str) -> Entry:
    told: dict[str, Any] = json.loads(frame)
    told.pop("digest")
    told.update(segments=(), run=run)
    return Entry(**told)


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


def _write_all(handle: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def _hold(handle: int) -> bool:
    """Take the lock that says that a journal's process lives; False where somebody has it."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
