"""A batch of several processes that share nothing but a folder: shards, then one commit.

    <out>/_MANIFEST.json      what the output consists of; written last
    <out>/<key>/part-00003-…  answers of a chunk
    <out>/_work/              plans, tallies, rows of the decision log, until the commit

Every process finds out by itself what there is to do. A chunk's answers depend on nothing but its
rows, the model and the rules, so it does not matter which process finishes it, nor how often.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from realloc.base import disk
from realloc.base.errors import ConfigError, StoreError, UnfinishedError
from realloc.base.place import Folder, Place
from realloc.batch.checkpoint import SHORT, WORK, Finished, digest_of
from realloc.batch.ending import log_run, refusal, sum_up, write_summary
from realloc.batch.job import BatchJob, Options, decide, prepare
from realloc.batch.manifest import (
    MANIFEST,
    REFUSED,
    Manifest,
    OutputFile,
    read_manifest,
)
from realloc.batch.publish import ENDINGS
from realloc.batch.run import open_input
from realloc.batch.summary import Output, RunSummary
from realloc.logs.reading.source import Source
from realloc.storage.store import Store

FOLDER = re.compile(f"[0-9a-f]{{{SHORT}}}")  # of the parts of one output
MOST_SPANS = 8
MOST_RACES = 5  # lost one after the other


@dataclass(frozen=True)
class Shard:
    """One of `count` shares of the chunks; the share 0 is also the share `count`.

    >>> [list(Shard(number, 3).of(7)) for number in (1, 2, 3)]
    [[2, 3], [4, 5, 6], [0, 1]]
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 0 <= self.number <= self.count or not self.count:
            raise ConfigError(
                f"Expected `--shard` as i/n with i from 0 to n, such as 3/8, got "
                f"{self.number}/{self.count}."
            )

    def of(self, chunks: int) -> range:
        """The numbers of its chunks."""
        place = self.number % self.count
        return range(chunks * place // self.count, chunks * (place + 1) // self.count)


@dataclass(frozen=True)
class ShardResult:
    """What a shard has finished; `offered`: only offers, as others have not made theirs yet."""

    chunks: range
    of: int
    rows: int
    offered: bool


@dataclass(frozen=True)
class Committed:
    """The output that a manifest names; `summary`: None where an earlier commit wrote it."""

    manifest: Manifest
    summary: RunSummary | None


def recommend_shard(
    today: Any, store: Path, out: Path, shard: Shard, options: Options | None = None
) -> ShardResult:
    """Finish the chunks of one shard of the files at a path (list, glob, folder)."""
    options = options or Options()
    opened, source = _open(today, store, out, options)
    with _explained(out):
        return _run_shard(opened, source, Folder(out), shard, options)


def commit_shards(
    today: Any, store: Path, out: Path, options: Options | None = None
) -> Committed:
    """Publish what all shards have finished; `UnfinishedError` where parts are missing.

    Raises `PublishError` where publish limits are broken.
    """
    options = options or Options()
    opened, source = _open(today, store, out, options)
    with _explained(out):
        return _run_commit(opened, source, Folder(out), options)


def _open(today: Any, store: Path, out: Path, options: Options) -> tuple[Store, Source]:
    if out.suffix in ENDINGS:
        raise ConfigError(f"Expected `--out` to be a folder for parts, got {str(out)!r}.")
    return open_input(today, store, out, options)


@contextmanager
def _explained(out: Path) -> Generator[None]:
    try:
        yield
    except OSError as problem:
        raise StoreError(
            f"Cannot write {str(out)!r}: {disk.describe(problem)}. What is finished is kept: make "
            "room or check the disk, and run the same command again."
        ) from problem


def _run_shard(
    store: Store, source: Source, place: Place, shard: Shard, options: Options
) -> ShardResult:
    job = prepare(store, source, place, options, parts=True)
    chunks = len(job.plan.starts)
    numbers = shard.of(chunks)
    finished = decide(job, numbers)
    job.check_input()
    _check_freeze(job)
    rows = sum(tally.rows for tally in finished.tallies.values()) if finished else 0
    return ShardResult(numbers, chunks, rows, finished is None)


def _run_commit(store: Store, source: Source, place: Place, options: Options) -> Committed:
    """Check that all parts are there, then figures, limits, log and manifest, in this order.

    Of several commits at once, all end with the same output and one entry of the log.
    """
    job = _prepare_commit(store, source, place, options)
    committed = _find_committed(job)
    if committed is None:
        try:
            committed = _commit(job)
        except (OSError, UnfinishedError):
            committed = _find_committed(job)  # another commit was faster, and has tidied up
            if committed is None:
                raise
    _tidy(place, committed.manifest)
    return committed


def _prepare_commit(
    store: Store, source: Source, place: Place, options: Options
) -> BatchJob:
    """Prepare; again where a commit that was faster tidies up the plan at this moment."""
    for _ in range(MOST_RACES):
        with suppress(FileNotFoundError):
            return prepare(store, source, place, options, parts=True)
    return prepare(store, source, place, options, parts=True)


def _find_committed(job: BatchJob) -> Committed | None:
    manifest = read_manifest(job.checkpoint.place)
    if manifest is None or manifest.key != job.key:
        return None
    return Committed(manifest, None)


def _commit(job: BatchJob) -> Committed:
    place = job.checkpoint.place
    finished = None
    if job.two_passes:
        missing = [number for number in job.plan.numbers if number not in job.menus.names]
        if missing:
            raise UnfinishedError(
                f"Nothing was published: {len(missing)} parts ({name_spans(missing)}) have not "
                "made the offers that caps over all rows need. Run the shards again, then "
                "`--commit`."
            )
        finished = decide(job, job.plan.numbers)
    of_job = finished.job if finished else job
    parts = _find_all(of_job)
    job.check_input()
    tallies = {number: part.tally for number, part in enumerate(parts)}
    summary = sum_up(of_job, tallies)
    files = [OutputFile.of(part) for part in parts]
    digest = digest_of({"files": [asdict(file) for file in files]})
    refused = bool(summary.broken_limits) and not summary.forced
    name = REFUSED if refused else MANIFEST
    summary = replace(summary, output=Output(name, digest, published=not refused))
    if refused:
        place.replace(name, _pack(job, files, summary).pack())
        raise refusal(summary, place.describe(name))
    _check_freeze(job)
    summary = replace(summary, decision_log=log_run(of_job, summary))
    _check_freeze(job)
    manifest = _pack(job, files, summary)
    place.replace(MANIFEST, manifest.pack())
    if job.options.summary:
        write_summary(summary, job.options.summary)
    return Committed(manifest, summary)


def _pack(job: BatchJob, files: list[OutputFile], summary: RunSummary) -> Manifest:
    return Manifest(key=job.key, files=files, figures=summary.to_json())


def _check_freeze(job: BatchJob) -> None:
    if job.overtaken:
        raise UnfinishedError(
            "The store was frozen meanwhile, and nothing may be moved. Run every shard again, "
            "then `--commit`."
        )


def _find_all(job: BatchJob) -> list[Finished]:
    """Every chunk to the last byte; or say which are missing."""
    found = {number: job.checkpoint.find(number) for number in job.plan.numbers}
    missing = [number for number, finished in found.items() if finished is None]
    if missing:
        raise UnfinishedError(
            f"Nothing was published: {len(missing)} of {len(found)} parts are missing or damaged "
            f"({name_spans(missing)}) for this input, version and rules. Run the shards again: "
            "what is finished is kept. Then `--commit` again."
        )
    return [finished for finished in found.values() if finished is not None]


def name_spans(numbers: list[int]) -> str:
    """Numbers in ascending order as spans.

    >>> name_spans([0, 1, 2, 5, 7, 8])
    '0–2, 5, 7–8'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    shown = [f"{span[0]}–{span[-1]}" if len(span) > 1 else str(span[0]) for span in spans]
    more = "" if len(shown) <= MOST_SPANS else ", …"
    return ", ".join(shown[:MOST_SPANS]) + more


def _tidy(place: Place, manifest: Manifest) -> None:
    """Remove what the manifest does not name: earlier outputs, and what was needed to make it."""
    kept = {file.name.partition("/")[0] for file in manifest.files}
    for name in place.names(""):
        if name == WORK or (FOLDER.fullmatch(name) and name not in kept):
            place.remove(name)
