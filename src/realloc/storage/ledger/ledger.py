"""The decision log: a folder to which entries are only ever added, each whole or not at all.

    decisions/
      00000017/            one entry: it is there once its folder has this name
        entry.json         who, when, which version, settings, digests of its files and of entry 16
        rows-00000.parquet one row per decision, with the inputs it was made from
      tmp/                 entries under way
      journal/             decisions of services that are not in an entry yet

It needs no lock: a rename cannot replace a folder that is not empty, so of two writers that want
the same number one wins, and the other takes the next.
"""

import errno
import glob
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base import disk
from realloc.base.artifact import sha256
from realloc.base.errors import LedgerError
from realloc.storage.ledger.entry import ENTRY, Entry, Segment, read_entry, sha256_file
from realloc.storage.ledger.rows import INPUTS

if TYPE_CHECKING:
    import pyarrow.dataset as pa_dataset

NAME = re.compile(r"\d{8}")
TMP = "tmp"
ATTEMPTS = 1000
TAKEN = {errno.ENOTEMPTY, errno.EEXIST}
STALE_SECONDS = 7 * 86400  # after which what lies in tmp belongs to nobody
DECISIONS = "decisions"  # the folder of a store that holds its log


@dataclass(frozen=True)
class Ledger:
    """The decision log in a folder."""

    path: Path

    def numbers(self) -> list[int]:
        """The numbers of all entries, in order."""
        names = os.listdir(self.path) if self.path.is_dir() else []
        return sorted(int(name) for name in names if NAME.fullmatch(name))

    def folder(self, number: int) -> Path:
        """The folder of an entry."""
        return self.path / f"{number:08d}"

    def entry(self, number: int) -> Entry:
        """One entry; a changed one raises."""
        return read_entry(self.folder(number))

    def entries(self) -> Iterator[Entry]:
        """All entries, oldest first; a changed one raises."""
        for number in self.numbers():
            yield self.entry(number)

    def find(self, run: str) -> Entry | None:
        """The newest entry of a run."""
        for number in reversed(self.numbers()):
            entry = self.entry(number)
            if entry.run == run:
                return entry
        return None

    def append(self, entry: Entry, files: Iterable[bytes]) -> Entry:
        """Add an entry with its Parquet files of rows, down to the disk.

        A run has one entry: if it is there, also of another process at the same time, that one is
        returned and nothing is added.
        """
        try:
            return self._append(entry, files)
        except OSError as problem:
            there = self.find(entry.run) if isinstance(problem, FileNotFoundError) else None
            if (
                there is not None
            ):  # another process added it, and removed our unfinished work
                return there
            raise LedgerError(
                f"Cannot add to the decision log {str(self.path)!r}: {disk.describe(problem)}. "
                "No decision was published."
            ) from problem

    def _append(self, entry: Entry, files: Iterable[bytes]) -> Entry:
        self.make(self.path / TMP)
        # What stopped runs left half-made that never came back.
        for folder in (self.path / TMP).iterdir():
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(folder)
        numbers = self.numbers()
        there = self.find(entry.run)
        if there is None:
            work = self.path / TMP / f"{entry.run}.{secrets.token_hex(4)}"
            disk.make_folder(work)
            try:
                entry = replace(entry, segments=tuple(_write(files, work)))
                rows = sum(segment.rows for segment in entry.segments)
                there = self._name(replace(entry, rows=rows), work, set(numbers))
            finally:
                shutil.rmtree(work, ignore_errors=True)
        for left in (self.path / TMP).glob(f"{glob.escape(entry.run)}.*"):
            shutil.rmtree(left, ignore_errors=True)
        return there

    def _name(self, entry: Entry, work: Path, seen: set[int]) -> Entry:
        """Give the entry the next number; `seen` are those known to be of other runs."""
        for _ in range(ATTEMPTS):
            numbers = self.numbers()
            for number in sorted({*numbers} - seen):
                there = self.entry(number)
                if there.run == entry.run:
                    return there
                seen.add(number)
            entry = self._following(entry, numbers)
            disk.write_new_file(work / ENTRY, entry.pack())
            disk.sync_folder(work)
            try:
                disk.rename(work, self.folder(entry.number))
            except OSError as problem:
                if problem.errno not in TAKEN:
                    raise
                # somebody was faster: take the next number
                disk.remove_file(work / ENTRY)
                continue
            disk.sync_folder(self.path)
            return entry
        raise LedgerError(
            f"Found no free number in {str(self.path)!r}: others were faster each time."
        )

    def _following(self, entry: Entry, numbers: list[int]) -> Entry:
        last = read_entry(self.folder(numbers[-1])) if numbers else None
        if last is None:
            return replace(entry, number=1, previous=None)
        made = max(entry.made, last.made)
        return replace(entry, number=last.number + 1, previous=last.digest, made=made)

    def make(self, *folders: Path) -> None:
        """Make the log's folder and further ones in it, where they are missing."""
        for folder in (self.path, *folders):
            if not folder.is_dir():
                with suppress(FileExistsError):
                    disk.make_folder(folder)
                disk.sync_folder(folder.parent)

    def verify(self) -> tuple[str, ...]:
        """Hash every file again and follow the chain: a sentence for each fault, with the file."""
        faults: list[str] = []
        expected = 1
        digest = None
        for number in self.numbers():
            folder = self.folder(number)
            if number != expected:
                faults.append(
                    f"Expected entry {expected} in {str(self.path)!r}, but the next is {number}."
                )
            expected = number + 1
            try:
                entry = read_entry(folder)
            except LedgerError as problem:
                faults.append(str(problem))
                digest = ""  # the next one cannot be compared
                continue
            if digest not in ("", entry.previous) and number > 1:
                faults.append(
                    f"Expected the digest of the entry before in {str(folder / ENTRY)!r}, "
                    "got another."
                )
            digest = entry.digest
            faults += self._faults_of(entry, folder)
        return tuple(faults)

    def _faults_of(self, entry: Entry, folder: Path) -> Iterator[str]:
        if entry.number != int(folder.name):
            yield f"Expected entry {int(folder.name)} in {str(folder)!r}, got {entry.number}."
        known = {ENTRY, *(segment.name for segment in entry.segments)}
        strange = sorted(set(os.listdir(folder)) - known)
        if strange:
            yield (
                f"Expected only what its entry names in {str(folder)!r}, but found {strange[0]!r}."
            )
        for segment in entry.segments:
            path = folder / segment.name
            try:
                _check_digest(path, segment)
            except LedgerError as problem:
                yield str(problem)

    def read(self, entry: Entry) -> Iterator[pa.Table]:
        """The rows of an entry, file by file, each checked to the last byte first."""
        for segment in entry.segments:
            path = self.folder(entry.number) / segment.name
            _check_digest(path, segment)
            # As one file: the numbers of folders are no columns.
            yield pq.ParquetFile(path).read()

    def dataset(self) -> "pa_dataset.Dataset":
        """All rows as an Arrow dataset, to query; digests are left to `verify`."""
        import pyarrow.dataset as pa_dataset

        paths = [
            str(self.folder(entry.number) / segment.name)
            for entry in self.entries()
            for segment in entry.segments
        ]
        if not paths:
            raise LedgerError(
                f"Expected decisions in {str(self.path)!r}, but there are none yet."
            )
        schemas = [pq.read_schema(path) for path in paths]
        try:
            shared = pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowTypeError:  # one feature came as a number and as a date
            outer = [schema.remove(schema.get_field_index(INPUTS)) for schema in schemas]
            shared = pa.unify_schemas(outer, promote_options="permissive")
        return pa_dataset.dataset(paths, schema=shared)


def _check_digest(path: Path, segment: Segment) -> None:
    try:
        digest = sha256_file(path)
    except OSError as problem:
        raise LedgerError(f"Cannot read {str(path)!r}: {problem.strerror}.") from problem
    if digest != segment.sha256:
        raise LedgerError(
            f"Expected the digest of its entry in {str(path)!r}, got another: it was changed."
        )


def _write(files: Iterable[bytes], folder: Path) -> Iterator[Segment]:
    """Write files of rows down to the disk."""
    for place, content in enumerate(files):
        name = f"rows-{place:05d}.parquet"
        disk.write_new_file(folder / name, content)
        rows = pq.read_metadata(pa.BufferReader(content)).num_rows
        yield Segment(name, rows, len(content), sha256(content))
