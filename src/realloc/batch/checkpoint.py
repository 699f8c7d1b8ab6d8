"""The chunks that a run has finished, kept beside the output in `.<name>.work/`.

    LOCK                    one run at a time for one output
    <key>/run.json          the run's id and when it began
    <key>/00003.arrow       answers of chunk 3
    <key>/00003.parquet     its rows of the decision log
    <key>/00003.json        its tally, and digests of both files and of itself; written last, so a
                            chunk is there whole or not

The key is the digest of everything the answers depend on. Chunks of another key are removed.
"""

import json
import os
import shutil
import uuid
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base import disk
from realloc.base.artifact import sha256
from realloc.base.lock import locked
from realloc.base.strict_json import parse_object
from realloc.batch.score import ScoredChunk
from realloc.batch.tally import Tally
from realloc.storage.ledger.entry import sha256_file
from realloc.storage.ledger.rows import Run

LOCK = "LOCK"
RUN = "run.json"


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
    """A chunk as it is written: answers in Arrow's file format, rows of the log as Parquet."""

    answers: bytes
    logged: bytes
    tally: Tally


def pack(scored: ScoredChunk) -> PackedChunk:
    """Make the files of a chunk."""
    answers = pa.BufferOutputStream()
    with pa.ipc.new_file(answers, scored.answers.schema) as writer:
        writer.write_table(scored.answers.combine_chunks())
    logged = pa.BufferOutputStream()
    pq.write_table(
        scored.logged, logged, compression="zstd", write_page_checksum=True, version="2.6"
    )
    return PackedChunk(
        answers.getvalue().to_pybytes(), logged.getvalue().to_pybytes(), scored.tally
    )


@dataclass(frozen=True)
class Checkpoint:
    """The finished chunks of one run."""

    folder: Path
    run: Run

    def find(self, number: int) -> Tally | None:
        """The tally of a chunk that is there to the last byte; None where it is not."""
        try:
            record = parse_object(self._path(number, "json").read_bytes())
            if record.pop("digest") != digest_of(record):
                return None
            for kind in ("arrow", "parquet"):
                if sha256_file(self._path(number, kind)) != record[kind]:
                    return None
            return Tally(**record["tally"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, number: int, chunk: PackedChunk) -> Tally:
        """Write a chunk down."""
        files = {"arrow": chunk.answers, "parquet": chunk.logged}
        for kind in ("json", *files):
            if self._path(number, kind).exists():  # what a stopped run left, or damaged
                disk.remove_file(self._path(number, kind))
        record: dict[str, Any] = {"tally": asdict(chunk.tally)}
        for kind, content in files.items():
            disk.write_new_file(self._path(number, kind), content)
            record[kind] = sha256(content)
        # Publish limits look at tallies: a changed one might let through what they should stop.
        record["digest"] = digest_of(record)
        content = json.dumps(record, ensure_ascii=False).encode()
        disk.replace_file(self._path(number, "json"), content)
        return chunk.tally

    def answers(self, number: int) -> pa.Table:
        """The answers of a chunk."""
        with pa.memory_map(str(self._path(number, "arrow"))) as source:
            return pa.ipc.open_file(source).read_all()

    def logged(self, number: int) -> Path:
        """The file with a chunk's rows of the decision log."""
        return self._path(number, "parquet")

    def clear(self) -> None:
        """Remove all chunks: the output is there."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int, kind: str) -> Path:
        return self.folder / f"{number:05d}.{kind}"


def open_checkpoint(
    folder: Path, key: str, now: datetime, version: int | None
) -> Checkpoint:
    """Open the chunks that an earlier run with this key has finished; remove all others."""
    for name in os.listdir(folder):
        if name not in (LOCK, key):
            shutil.rmtree(folder / name, ignore_errors=True)
    place = folder / key
    place.mkdir(exist_ok=True)
    try:
        record = parse_object((place / RUN).read_bytes())
        run = Run(str(record["id"]), datetime.fromisoformat(record["made"]), version)
    except (OSError, ValueError, KeyError, TypeError):
        run = Run(f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}", now, version)
        shutil.rmtree(place)  # chunks name the run they belong to
        place.mkdir()
        record = {"id": run.id, "made": run.made.isoformat()}
        disk.replace_file(place / RUN, json.dumps(record).encode())
    return Checkpoint(place, run)
