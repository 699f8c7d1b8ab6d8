"""The folder in which a run keeps the parts it has finished, beside the output: `.<name>.work/`.

    LOCK                    one run at a time for one output
    <key>/run.json          the run's id and when it began
    <key>/00003.arrow       answers of part 3
    <key>/00003.parquet     its rows of the decision log
    <key>/00003.json        its tally, and digests of both files and of itself; written last, so a part is there whole or not

The key is the digest of everything the answers depend on. Parts of another key are of no use any more and are removed.
"""

import hashlib
import json
import os
import shutil
import sys
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base import disk
from realloc.base.errors import StoreError
from realloc.batch.score import Scored
from realloc.batch.tally import Tally
from realloc.storage.ledger.entry import sha256_file
from realloc.storage.ledger.rows import Run

LOCK, RUN = "LOCK", "run.json"


def key_of(parts: Mapping[str, Any]) -> str:
    """The digest of everything that answers depend on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def work_folder(out: Path) -> Path:
    """Where the parts of an output lie."""
    return out.with_name(f".{out.name}.work")


@contextmanager
def only_run(out: Path) -> Generator[Path]:
    """Be the only run that writes `out`; the folder goes away again if nothing is kept in it."""
    if sys.platform == "win32":
        raise StoreError(
            "Expected a system with `flock` to write recommendations, got Windows. Use Linux, macOS or WSL."
        )
    import fcntl

    folder = work_folder(out)
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            continue  # whoever was here before has just removed the folder
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            os.close(handle)
            raise StoreError(
                f"Expected to be the only run that writes {str(out)!r}, but another one is at it. "
                "Wait until it is done, or name another `--out`. Nothing was changed."
            ) from problem
        if _is_same(handle, folder / LOCK):
            break
        os.close(handle)
    try:
        yield folder
    finally:
        for name in os.listdir(folder):
            if name != LOCK and set(os.listdir(folder / name)) <= {
                RUN
            }:  # refused before any part was finished
                shutil.rmtree(folder / name, ignore_errors=True)
        if os.listdir(folder) == [LOCK]:
            os.unlink(folder / LOCK)  # while it is held, so that nobody else can hold it
            os.rmdir(folder)
        os.close(handle)


def _is_same(handle: int, path: Path) -> bool:
    """Whether the lock that is held is still the one that others would find."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


@dataclass(frozen=True)
class Packed:
    """A part as it is written: answers in Arrow's file format, rows of the log as Parquet."""

    answers: bytes
    logged: bytes
    tally: Tally


def pack(scored: Scored) -> Packed:
    """Make bytes of a part."""
    return Packed(_arrow_bytes(scored.answers), _parquet_bytes(scored.logged), scored.tally)


@dataclass(frozen=True)
class Work:
    """The finished parts of one run."""

    folder: Path
    run: Run

    def has(self, number: int) -> Tally | None:
        """The tally of a part that is there to the last byte; None where it is not."""
        try:
            told = json.loads(self._path(number, "json").read_bytes())
            if told.pop("digest") != key_of(told):
                return None
            for kind in ("arrow", "parquet"):
                if sha256_file(self._path(number, kind)) != told[kind]:
                    return None
            return Tally(**told["tally"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, number: int, packed: "Packed") -> Tally:
        """Write a part down."""
        files = {"arrow": packed.answers, "parquet": packed.logged}
        for kind in ("json", "arrow", "parquet", "new"):
            if self._path(number, kind).exists():  # what a stopped run left, or damaged
                disk.remove_file(self._path(number, kind))
        for kind, content in files.items():
            disk.write_new_file(self._path(number, kind), content)
        told = {kind: hashlib.sha256(content).hexdigest() for kind, content in files.items()}
        told |= {"tally": packed.tally.to_json()}
        told |= {
            "digest": key_of(told)
        }  # publish limits look at tallies: a changed one may let through what it should hold
        disk.write_new_file(
            self._path(number, "new"), json.dumps(told, ensure_ascii=False).encode()
        )
        disk.rename(self._path(number, "new"), self._path(number, "json"))
        return packed.tally

    def answers(self, number: int) -> pa.Table:
        """Of a part."""
        with pa.memory_map(str(self._path(number, "arrow"))) as source:
            return pa.ipc.open_file(source).read_all()

    def logged(self, number: int) -> Path:
        """The file with a part's rows of the decision log."""
        return self._path(number, "parquet")

    def _path(self, number: int, kind: str) -> Path:
        return self.folder / f"{number:05d}.{kind}"


def open_work(folder: Path, key: str, now: datetime, version: int | None) -> Work:
    """The parts of a key, with what an earlier run has finished; those of other keys are removed."""
    for name in os.listdir(folder):
        if name not in (LOCK, key):
            shutil.rmtree(folder / name, ignore_errors=True)
    own = folder / key
    own.mkdir(exist_ok=True)
    try:
        told = json.loads((own / RUN).read_bytes())
        run = Run(str(told["id"]), datetime.fromisoformat(told["made"]), version)
    except (OSError, ValueError, KeyError, TypeError):
        run = Run(f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}", now, version)
        shutil.rmtree(own)  # parts name the run they belong to
        own.mkdir()
        beside = own / f"{RUN}.new"
        disk.write_new_file(
            beside, json.dumps({"id": run.id, "made": run.made.isoformat()}).encode()
        )
        disk.rename(beside, own / RUN)
    return Work(own, run)


def close_work(work: Work) -> None:
    """The output is there: parts are of no use any more."""
    shutil.rmtree(work.folder, ignore_errors=True)


def _arrow_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()


def _parquet_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True, version="2.6")
    return sink.getvalue().to_pybytes()
