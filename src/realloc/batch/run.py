"""A batch of recommendations, from files to a file: bounded memory, resumable, whole or not there.

1. Input files, version and rules, on which the answers depend, give a key; chunks that an earlier
   run with this key has finished are kept.
2. Chunks are decided one by one, here or in several processes, and written down as they are done.
3. The figures of all chunks are compared with the publish limits. If one is broken, results go to
   another name, and nothing is logged.
4. FROZEN is looked at again; then the decisions are logged; then the output gets its name.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from realloc.base import disk
from realloc.base.errors import ConfigError, LogError, PublishError, StoreError
from realloc.base.progress import Progress, silent
from realloc.base.validation import from_table
from realloc.base.version import __version__
from realloc.batch.all_rows import decide_all_rows
from realloc.batch.checkpoint import Checkpoint, digest_of, only_run, open_checkpoint
from realloc.batch.chunks import CHUNK_ROWS, Chunk, cut, fingerprint_files, identify_files
from realloc.batch.keys import Keys, scan_keys
from realloc.batch.limits import broken_limits
from realloc.batch.publish import ENDINGS, refused_name, summary_name, write_beside
from realloc.batch.summary import LoggedAs, Output, RunSummary, summarise
from realloc.batch.tally import Tally
from realloc.batch.workers import decide_chunks
from realloc.logs import Schema
from realloc.logs.reading.read import plan_today
from realloc.logs.reading.source import Source, open_source
from realloc.model.config import Config
from realloc.serve.load import LoadedModel, ModelRequest, load_model
from realloc.storage.ledger.entry import Entry, sha256_file
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store
from realloc.storage.store.frozen import newest_record
from realloc.storage.store.store import utc_now

STEP = "decisions"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to run; only `config` and `pools` change answers."""

    # Its [decision], [constraints] and [publish] replace those of the fit.
    config: Config | None = None
    # Most money per channel over all rows.
    pools: dict[str, float] | None = None
    # Processes.
    jobs: int = 1
    # Publish although a limit is broken.
    force: bool = False
    # Where the figures go; None: beside the output.
    summary: Path | None = None
    # Folder of the decision log; None: in the store.
    decisions: Path | None = None
    allow_network: bool = False
    chunk_rows: int = CHUNK_ROWS
    progress: Progress = silent
    clock: Callable[[], datetime] = utc_now


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
        raise ConfigError(f"Expected `--out` to end in .parquet or .csv, got {out.name!r}.")
    opened = Store(store, allow_network=options.allow_network, clock=options.clock)
    source = _open_input(today, opened)
    if not source.files:
        raise LogError(
            "Expected files to recommend for, got a frame. Use `model.recommend(frame)`."
        )
    if out.exists() and any(file.path.samefile(out) for file in source.files):
        raise ConfigError(
            f"Expected `--out` beside the input, but {str(out)!r} is the input itself. "
            "Name another file."
        )
    files = identify_files(source)
    digest = fingerprint_files(source)
    if opened.empty and opened.frozen is None:
        opened.load()  # its sentence, before anything is written
    before = _identify(out)
    try:
        with only_run(out) as folder:
            while True:
                job = _prepare(opened, source, digest, out, folder, options)
                tally = _decide(job, options)
                if identify_files(source) != files:
                    raise LogError(
                        "A file of the input was replaced while it was read. Run again."
                    )
                result = None if job.overtaken else _end(job, tally, options)
                if result is not None:
                    return result
                # The store was frozen meanwhile: no decision may be published, so begin again.
    except OSError as problem:
        raise _explain(problem, out, before) from problem


def _open_input(today: Any, store: Store) -> Source:
    """The input, its text read as the logs of the newest version were."""
    if store.empty:
        return open_source(today)
    schema = from_table(Schema, newest_record(store.path).schema, "the version's record")
    return open_source(today, schema.read)


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


@dataclass(frozen=True)
class BatchJob:
    """A run under way."""

    request: ModelRequest
    loaded: LoadedModel
    source: Source
    names: list[str]
    keys: Keys
    starts: list[int]  # the first row of each chunk
    checkpoint: Checkpoint
    out: Path
    store: Store
    input: dict[str, Any]
    settings: dict[str, Any]
    why_frozen: str | None  # since when and why the store is frozen

    @property
    def overtaken(self) -> bool:
        """Whether the store was frozen since the run began."""
        return self.why_frozen is None and self.store.frozen is not None

    def chunks(self) -> Iterator[Chunk]:
        """The input, chunk by chunk."""
        return cut(self.source, self.names, self.starts)

    @property
    def numbers(self) -> range:
        """The numbers of all chunks."""
        return range(len(self.starts))

    @property
    def decisions(self) -> int:
        """How many are made, unless the rows of a unit and time are scattered."""
        return max(1, self.keys.rows if self.keys.runs is None else len(self.keys.runs))


def _prepare(
    store: Store, source: Source, digest: str, out: Path, folder: Path, options: Options
) -> BatchJob:
    why_frozen = store.frozen
    frozen = why_frozen is not None
    current = None if frozen else store.current()
    version = current.number if current else None
    rules = None if frozen else options.config
    request = ModelRequest(
        store.path,
        version,
        rules and rules.decision,
        rules and rules.constraints,
        frozen,
        options.allow_network,
    )
    loaded = load_model(request)
    schema = loaded.schema
    plan = plan_today(source, schema)
    keys = scan_keys(source, schema, plan.long)
    names = list(dict.fromkeys([schema.unit, schema.time, *plan.columns]))
    all_rows = (
        bool(options.pools)
        or keys.scattered
        or loaded.needs_all_rows
        or (loaded.looks_back and keys.units_repeat)
    )
    settings = loaded.settings | {
        "pools": options.pools or {},
        "all_rows": all_rows and not frozen,
    }
    together = settings["all_rows"] and plan.long
    starts = keys.chunk_starts(keys.rows or 1 if together else options.chunk_rows)
    depends_on = {
        "input": digest,
        "version": version,
        "model": loaded.record.model,
        "settings": settings,
        "chunk_rows": options.chunk_rows,
        "realloc": __version__,
    }
    checkpoint = open_checkpoint(folder, digest_of(depends_on), store.clock(), version)
    read = {
        "files": [str(file.path) for file in source.files],
        "sha256": digest,
        "rows": keys.rows,
    }
    return BatchJob(
        request,
        loaded,
        source,
        names,
        keys,
        starts,
        checkpoint,
        out,
        store,
        read,
        settings,
        why_frozen,
    )


def _decide(job: BatchJob, options: Options) -> Tally:
    """Decide every chunk that is not there yet; return the tally of all of them."""
    if job.settings["all_rows"]:
        chunks = list(job.chunks())
        tallies = decide_all_rows(
            job.loaded, chunks, job.keys, job.checkpoint, options.pools, options.progress
        )
    else:
        tallies = _decide_chunks(job, options)
    total = Tally()
    for number in sorted(tallies):
        total = total.add(tallies[number])
    return total


def _decide_chunks(job: BatchJob, options: Options) -> dict[int, Tally]:
    count = len(job.starts)
    finished = {number: job.checkpoint.find(number) for number in job.numbers}
    tallies = {number: tally for number, tally in finished.items() if tally is not None}
    missing = (chunk for chunk in job.chunks() if chunk.number not in tallies)
    # a process has to be worth its start
    jobs = min(options.jobs, (count - len(tallies)) // 2)
    done = sum(tally.rows for tally in tallies.values())
    options.progress(STEP, done, job.decisions)
    for number, tally in decide_chunks(
        job.request, job.loaded, missing, job.keys.repeated, job.checkpoint, jobs
    ):
        tallies[number] = tally
        done += tally.rows
        options.progress(STEP, done, job.decisions)
        if job.overtaken:
            break  # the rest is of no use
    return tallies


def _end(job: BatchJob, tally: Tally, options: Options) -> BatchResult | None:
    """Figures, limits, log, output, in this order; None where the store was frozen meanwhile."""
    summary = summarise(
        tally,
        job.loaded,
        job.loaded.record,
        job.checkpoint.run,
        job.store.clock(),
        frozen=job.why_frozen,
        all_rows=job.settings["all_rows"],
        source=job.input,
    )
    limits = options.config.publish if options.config else job.loaded.limits
    # To change nothing is always safe.
    broken = () if job.why_frozen else tuple(broken_limits(summary, limits))
    refused = bool(broken) and not options.force
    target = refused_name(job.out) if refused else job.out
    place = write_beside(map(job.checkpoint.answers, job.numbers), target)
    summary = replace(
        summary,
        broken_limits=broken,
        forced=bool(broken) and options.force,
        output=Output(target.name, sha256_file(place), published=not refused),
    )
    if refused:
        disk.put_in_place(place, target)
        _write_summary(summary, summary_name(target))
        raise PublishError(
            f"Nothing was published: {'; '.join(broken)}. The results lie in {str(target)!r}. "
            "Look at them, then publish with `--beyond-limits`, or change [publish] of the config."
        )
    if job.overtaken:
        return None
    summary = replace(summary, decision_log=_log(job, summary, options))
    if job.overtaken:
        return None
    disk.put_in_place(place, target)
    summary_path = options.summary or summary_name(target)
    _write_summary(summary, summary_path)
    job.checkpoint.clear()
    return BatchResult(summary, target, summary_path)


def _write_summary(summary: RunSummary, path: Path) -> None:
    text = json.dumps(summary.to_json(), indent=2, ensure_ascii=False)
    disk.replace_file(path, text.encode() + b"\n")


def _log(job: BatchJob, summary: RunSummary, options: Options) -> LoggedAs:
    """Add the run to the decision log, unless a run that was stopped right after did."""
    ledger = Ledger(options.decisions or job.store.path / DECISIONS)
    run = job.checkpoint.run
    entry = ledger.find(run.id)
    if entry is None:
        frozen = job.why_frozen is not None
        entry = ledger.append(
            Entry(
                run=run.id,
                kind="batch",
                made=summary.made,
                version=None if frozen else run.version,
                model=None if frozen else job.loaded.record.model,
                schema=json.loads(json.dumps(asdict(job.loaded.schema))),
                settings=job.settings,
                source=job.input
                | {"output": asdict(summary.output) if summary.output else {}}
                | {"searches": summary.searches, "figures": summary.figures()},
            ),
            [job.checkpoint.logged(number) for number in job.numbers],
        )
    return LoggedAs(str(ledger.path), entry.number, entry.digest)
