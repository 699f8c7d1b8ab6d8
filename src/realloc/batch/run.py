"""A batch of recommendations, from files to a file: bounded memory, resumable, whole or not there.

1. Input files, version and rules, on which the answers depend, give a key; chunks that an earlier
   run with this key has finished are kept.
2. Chunks are decided one by one, here or in several processes, and written down as they are done.
3. The figures of all chunks are compared with the publish limits. If one is broken, results go to
   another name, and nothing is logged.
4. FROZEN is looked at again; then the decisions are logged; then the output gets its name.
"""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from realloc.base import disk
from realloc.base.errors import ConfigError, LogError, StoreError
from realloc.base.place import Folder
from realloc.base.validation import from_table
from realloc.batch.checkpoint import LOCK, SHORT, only_run
from realloc.batch.ending import log_run, refusal, sum_up, write_summary
from realloc.batch.job import BatchJob, FinishedChunks, Options, decide, prepare
from realloc.batch.publish import ENDINGS, refused_name, summary_name, write_beside
from realloc.batch.summary import Output, RunSummary
from realloc.logs import Schema
from realloc.logs.reading.source import Source, open_source
from realloc.storage.ledger.entry import sha256_file
from realloc.storage.store import Store
from realloc.storage.store.frozen import newest_record


@dataclass(frozen=True)
class BatchResult:
    """The figures of a run, and where its output and its figures lie."""

    summary: RunSummary
    out: Path
    summary_path: Path


def recommend_file(
    today: Any, store: Path, out: Path, options: Options | None = None
) -> BatchResult:
    """Recommend for every row of the files at a path (list, glob, folder).

    Raises `PublishError` where publish limits are broken.
    """
    options = options or Options()
    if out.suffix not in ENDINGS:
        raise ConfigError(
            "Expected `--out` to end in .parquet or .csv, or the name of a folder without an "
            f"ending, got {out.name!r}."
        )
    opened, source = open_input(today, store, out, options)
    before = _identify(out)
    try:
        with only_run(out) as folder:
            while True:
                job = prepare(opened, source, Folder(folder), options)
                _remove_others(folder, job)
                finished = _decide(job)
                job.check_input()
                result = _end(finished, out) if finished and not job.overtaken else None
                if result is not None:
                    return result
                # The store was frozen meanwhile: no decision may be published, so begin again.
    except OSError as problem:
        raise _explain(problem, out, before) from problem


def _decide(job: BatchJob) -> FinishedChunks | None:
    try:
        return decide(job, job.plan.numbers)
    except ConfigError:  # caps that cannot be kept: other caps are another run
        job.checkpoint.place.remove(job.key[:SHORT])
        raise


def open_input(
    today: Any, store: Path, out: Path, options: Options
) -> tuple[Store, Source]:
    """The store, and the input, its text read as the logs of the newest version were."""
    opened = Store(store, allow_network=options.allow_network, clock=options.clock)
    if opened.empty:
        source = open_source(today)
    else:
        record = newest_record(opened.path)
        schema = from_table(Schema, record.schema, "the version's record")
        source = open_source(today, schema.read)
    if not source.files:
        raise LogError(
            "Expected files to recommend for, got a frame. Use `model.recommend(frame)`."
        )
    if out.exists() and any(
        file.path.samefile(out) or out in file.path.parents for file in source.files
    ):
        raise ConfigError(
            f"Expected `--out` beside the input, but {str(out)!r} is the input itself. "
            "Name another file."
        )
    if opened.empty and opened.frozen is None:
        opened.load()  # its sentence, before anything is written
    return opened, source


def _identify(out: Path) -> tuple[int, int] | None:
    """Which file has the name of the output; None where there is none."""
    return (out.stat().st_ino, out.stat().st_mtime_ns) if out.exists() else None


def _explain(problem: OSError, out: Path, before: tuple[int, int] | None) -> StoreError:
    """Say what a disk error means: did it come before or after the output got its name?"""
    reason = disk.describe(problem)
    if _identify(out) != before:
        return StoreError(
            f"The disk did not confirm {str(out)!r}: {reason}. The new output is there, "
            "but a power loss may still undo it. Check the disk, then run the same command again."
        )
    return StoreError(
        f"Cannot write {str(out)!r}: {reason}. Nothing was published. What is finished is kept: "
        "make room or check the disk, and run the same command again."
    )


def _remove_others(folder: Path, job: BatchJob) -> None:
    """Remove what runs with another key have finished."""
    for name in os.listdir(folder):
        if name not in (LOCK, job.key[:SHORT]):
            shutil.rmtree(folder / name, ignore_errors=True)


def _end(finished: FinishedChunks, out: Path) -> BatchResult | None:
    """Figures, limits, log, output, in this order; None where the store was frozen meanwhile."""
    job = finished.job
    summary = sum_up(job, finished.tallies)
    refused = bool(summary.broken_limits) and not summary.forced
    target = refused_name(out) if refused else out
    place = write_beside(map(job.checkpoint.answers, job.plan.numbers), target)
    output = Output(target.name, sha256_file(place), published=not refused)
    summary = replace(summary, output=output)
    if refused:
        disk.put_in_place(place, target)
        write_summary(summary, summary_name(target))
        raise refusal(summary, target)
    if job.overtaken:
        return None
    summary = replace(summary, decision_log=log_run(job, summary))
    if job.overtaken:
        return None
    disk.put_in_place(place, target)
    summary_path = job.options.summary or summary_name(target)
    write_summary(summary, summary_path)
    job.checkpoint.place.remove(job.key[:SHORT])
    return BatchResult(summary, target, summary_path)
