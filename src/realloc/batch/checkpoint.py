"""The chunks that a run has finished: parts of its output, kept until all are there.

    <work>/run.json                the run's id and when it began
    <work>/00003.json              the record of chunk 3: its run, its tally, names and digests of
                                   its files and of itself; written last, so a chunk is there or not
    <work>/00003-<digest>.parquet  its rows of the decision log
    <answers>-<digest>.<kind>      its answers

The folder is named by the digest of everything the answers depend on. Files are named by their
content and never change, so any number of processes may finish the same chunk at once: the first
record counts, and whoever comes later finds it and checks it.
"""

import json
import os
import shutil
import uuid
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base.artifact import sha256
from realloc.base.lock import locked
from realloc.base.place import Place
from realloc.base.strict_json import parse_object
from realloc.batch.score import ScoredChunk
from realloc.batch.tally import Tally
from realloc.storage.ledger.rows import Run

LOCK = "LOCK"
RUN = "run.json"
SHORT = 16  # digits of a key in a name
WORK = "_work"  # in a folder of parts
Kind = Literal["arrow", "parquet"]


def digest_of(values: Mapping[str, Any]) -> str:
    """The digest of plain values."""
    return sha256(json.dumps(values, sort_keys=True, default=str).encode())


def work_folder(out: Path) -> Path:
    """Where the chunks of an output lie."""
    return out.with_name(f".{out.name}.work")


@contextmanager
def only_run(out: Path) -> Generator[Path]:
    """Be the only run that writes `out`; the folder goes away again if nothing is kept in it."""
    folder = work_folder(out)
    held = (
        f"Expected to be the only run that writes {str(out)!r}, but another one is writing it. "
        "Wait until it is done, or name another `--out`. Nothing was changed."
    )
    with ExitStack() as stack:
        while True:
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # whoever was here before has just removed it
                stack.enter_context(locked(folder / LOCK, held))
                break
        try:
            yield folder
        finally:
            for name in os.listdir(folder):
                # A run that was refused before any chunk was finished left only its id.
                if name != LOCK and set(os.listdir(folder / name)) <= {RUN}:
                    shutil.rmtree(folder / name, ignore_errors=True)
            if os.listdir(folder) == [LOCK]:
                # while it is held, so that nobody else can hold it
                os.unlink(folder / LOCK)
                os.rmdir(folder)


@dataclass(frozen=True)
class PackedChunk:
    """A chunk as it is written: answers as an Arrow or Parquet file, rows of the log as Parquet."""

    answers: bytes
    logged: bytes
    tally: Tally
    rows: int  # of the answers


def pack(scored: ScoredChunk, kind: Kind = "arrow") -> PackedChunk:
    """Make the files of a chunk."""
    write = _pack_arrow if kind == "arrow" else _pack_parquet
    answers = scored.answers
    return PackedChunk(
        write(answers), _pack_parquet(scored.logged), scored.tally, answers.num_rows
    )


def _pack_arrow(table: pa.Table) -> bytes:
    content = pa.BufferOutputStream()
    with pa.ipc.new_file(content, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return content.getvalue().to_pybytes()


def _pack_parquet(table: pa.Table) -> bytes:
    content = pa.BufferOutputStream()
    pq.write_table(
        table, content, compression="zstd", write_page_checksum=True, version="2.6"
    )
    return content.getvalue().to_pybytes()


@dataclass(frozen=True)
class ChunkFile:
    """A file of a finished chunk."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Finished:
    """A chunk that is there to the last byte."""

    run: str
    tally: Tally
    rows: int
    answers: ChunkFile
    logged: ChunkFile


@dataclass(frozen=True)
class Checkpoint:
    """The finished chunks of one run."""

    place: Place
    work: str  # the folder for records and rows of the log
    answers_in: str  # how names of answers begin
    kind: Kind
    run: Run

    @property
    def are_parts(self) -> bool:
        """Whether each chunk is a file of the output."""
        return self.kind == "parquet"

    def find(self, number: int) -> Finished | None:
        """What a chunk left behind; None where it is not there or damaged."""
        try:
            finished = self._read_record(number)
            if finished.run != self.run.id:
                return None
            for part in (finished.answers, finished.logged):
                if sha256(self.place.read(part.name)) != part.sha256:
                    return None
            return finished
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, number: int, chunk: PackedChunk) -> Tally:
        """Write a chunk down, unless another process has just done so."""
        answers = self._write(f"{self.answers_in}{number:05d}", self.kind, chunk.answers)
        logged = self._write(f"{self.work}/{number:05d}", "parquet", chunk.logged)
        record = asdict(Finished(self.run.id, chunk.tally, chunk.rows, answers, logged))
        # Publish limits look at tallies: a changed one might let through what they should stop.
        record["digest"] = digest_of(record)
        content = json.dumps(record, ensure_ascii=False).encode()
        if not self.place.create(self._record(number), content):
            finished = self.find(number)
            if finished is not None:
                return finished.tally
            self.place.replace(self._record(number), content)
        return chunk.tally

    def answers(self, number: int) -> pa.Table:
        """The answers of a chunk, from an Arrow file."""
        content = self.place.read(self._read_record(number).answers.name)
        return pa.ipc.open_file(content).read_all()

    def logged(self, number: int) -> bytes:
        """The file with a chunk's rows of the decision log."""
        return self.place.read(self._read_record(number).logged.name)

    def beneath(self, key: str) -> "Checkpoint":
        """Chunks of the same run that also depend on what the key stands for."""
        short = key[:SHORT]
        answers = f"{short}/part-" if self.are_parts else f"{self.work}/{short}/"
        return replace(self, work=f"{self.work}/{short}", answers_in=answers)

    def _record(self, number: int) -> str:
        return f"{self.work}/{number:05d}.json"

    def _read_record(self, number: int) -> Finished:
        record = parse_object(self.place.read(self._record(number)))
        if record.pop("digest") != digest_of(record):
            raise ValueError
        answers, logged = ChunkFile(**record["answers"]), ChunkFile(**record["logged"])
        tally = Tally(**record["tally"])
        return Finished(record["run"], tally, record["rows"], answers, logged)

    def _write(self, name: str, kind: str, content: bytes) -> ChunkFile:
        digest = sha256(content)
        part = ChunkFile(f"{name}-{digest[:12]}.{kind}", len(content), digest)
        # It may be there, of a run that was stopped, and it may be damaged since.
        if (
            not self.place.create(part.name, content)
            and self.place.read(part.name) != content
        ):
            self.place.replace(part.name, content)
        return part


def open_checkpoint(
    place: Place, key: str, now: datetime, version: int | None, *, parts: bool = False
) -> Checkpoint:
    """Open the chunks that a run with this key has finished.

    With `parts` the answers of each chunk are a file to publish, in a folder of their own.
    """
    short = key[:SHORT]
    work = f"{WORK}/{short}" if parts else short
    answers = f"{short}/part-" if parts else f"{short}/"
    run = _find_run(place, work, now, version)
    return Checkpoint(place, work, answers, "parquet" if parts else "arrow", run)


def _find_run(place: Place, work: str, now: datetime, version: int | None) -> Run:
    """The run that the chunks in a folder belong to; the first process that asks begins it."""
    name = f"{work}/{RUN}"
    try:
        return _parse_run(place.read(name), version)
    except FileNotFoundError:
        write = place.create
    except (OSError, ValueError, KeyError, TypeError):
        write = place.replace  # damaged
    run = Run(f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}", now, version)
    record = {"id": run.id, "made": run.made.isoformat()}
    write(name, json.dumps(record).encode())
    return _parse_run(place.read(name), version)


def _parse_run(content: bytes, version: int | None) -> Run:
    record = parse_object(content)
    return Run(str(record["id"]), datetime.fromisoformat(record["made"]), version)
