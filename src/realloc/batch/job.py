"""A run under way: what is asked, how the input is cut, and what is finished of it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from realloc.base.errors import LogError
from realloc.base.place import Place
from realloc.base.progress import Progress, silent
from realloc.base.version import __version__
from realloc.batch.checkpoint import (
    Checkpoint,
    Kind,
    PackedChunk,
    digest_of,
    open_checkpoint,
    pack,
)
from realloc.batch.chunks import CHUNK_ROWS, cut, identify_files
from realloc.batch.menus import Chosen, Menus, choose, offer_chunk, take_chunk
from realloc.batch.plan import ChunkPlan, find_plan, scan
from realloc.batch.score import score
from realloc.batch.tally import Tally
from realloc.batch.workers import (
    ChunkTask,
    Workers,
    local_processes,
    ray_workers,
    work_on_chunks,
)
from realloc.logs.reading.read import plan_today
from realloc.logs.reading.source import Source
from realloc.model.config import Config
from realloc.model.recommend import caps_of
from realloc.serve.load import LoadedModel, ModelRequest, load_model
from realloc.storage.ledger.rows import Run
from realloc.storage.store import Store
from realloc.storage.store.store import utc_now

STEP = "decisions"
OFFERS = "offers"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to run; only `config` and `pools` change answers."""

    # Its [decision], [constraints] and [publish] replace those of the fit.
    config: Config | None = None
    # Most money per channel over all rows.
    pools: dict[str, float] | None = None
    # Processes.
    jobs: int = 1
    # The address of a Ray cluster that works instead of processes here.
    ray: str | None = None
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
class BatchJob:
    """A run under way."""

    request: ModelRequest
    loaded: LoadedModel
    source: Source
    names: list[str]
    plan: ChunkPlan
    checkpoint: Checkpoint
    store: Store
    settings: dict[str, Any]
    why_frozen: str | None  # since when and why the store is frozen
    key: str
    options: Options
    files: list[tuple[str, int, int, int]]

    @property
    def overtaken(self) -> bool:
        """Whether the store was frozen since the run began."""
        return self.why_frozen is None and self.store.frozen is not None

    @property
    def two_passes(self) -> bool:
        """Whether there are caps over all rows."""
        return bool(self.settings["pools"]) or self.loaded.needs_all_rows

    @property
    def menus(self) -> Menus:
        """What is there of the first pass, looked up anew."""
        return Menus(self.checkpoint.place, self.checkpoint.work)

    @property
    def input(self) -> dict[str, Any]:
        """What is read, for the summary and the decision log."""
        files = [str(file.path) for file in self.source.files]
        return {"files": files, "sha256": self.plan.sha256, "rows": self.plan.rows}

    def check_input(self) -> None:
        """Refuse a file that was replaced since the run began."""
        if identify_files(self.source) != self.files:
            raise LogError("A file of the input was replaced while it was read. Run again.")

    def tasks(self, numbers: list[int]) -> Iterator[ChunkTask]:
        """Chunks to work on, read one by one."""
        wanted = set(numbers)
        span = range(numbers[0], numbers[-1] + 1) if numbers else range(0)
        for chunk in cut(self.source, self.names, self.plan.starts, span):
            if chunk.number in wanted:
                repeated = self.plan.repeated_in(chunk.first, chunk.source.rows or 0)
                yield ChunkTask(chunk, repeated)

    def workers(self, tasks: int) -> AbstractContextManager[Workers] | None:
        """Processes for so many chunks; None: this one is enough."""
        if self.options.ray is not None and tasks:
            return ray_workers(self.loaded, self.options.ray)
        jobs = min(self.options.jobs, tasks // 2)  # a process has to be worth its start
        return local_processes(self.request, jobs) if jobs > 1 else None


def prepare(
    store: Store, source: Source, place: Place, options: Options, *, parts: bool = False
) -> BatchJob:
    """Find out what there is to do. With `parts`, several processes share the place."""
    files = identify_files(source)
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
    reading = plan_today(source, schema)
    asked = (source, schema, reading.long, options.chunk_rows)
    plan = find_plan(place, *asked) if parts else scan(*asked)
    looks_back = loaded.looks_back and plan.units_repeat
    if looks_back:
        plan = replace(plan, starts=[0])
    pools = {} if frozen else options.pools or {}
    all_rows = looks_back or plan.scattered or bool(pools) or loaded.needs_all_rows
    settings = loaded.settings | {"pools": pools, "all_rows": all_rows and not frozen}
    depends_on = {
        "input": plan.sha256,
        "version": version,
        "model": loaded.record.model,
        "settings": settings,
        "chunk_rows": options.chunk_rows,
        "realloc": __version__,
    }
    key = digest_of(depends_on)
    names = list(dict.fromkeys([schema.unit, schema.time, *reading.columns]))
    checkpoint = open_checkpoint(place, key, store.clock(), version, parts=parts)
    return BatchJob(
        request,
        loaded,
        source,
        names,
        plan,
        checkpoint,
        store,
        settings,
        why_frozen,
        key,
        options,
        files,
    )


@dataclass(frozen=True)
class FinishedChunks:
    """The job with the checkpoint in which its chunks were finished, and their tallies."""

    job: BatchJob
    tallies: dict[int, Tally]


def decide(job: BatchJob, numbers: range) -> FinishedChunks | None:
    """Finish these chunks, until the store is frozen; None where menus of others are missing."""
    chosen = None
    if job.two_passes:
        chosen = _choose(job, numbers)
        if chosen is None:
            return None
        key = digest_of({"key": job.key, "options": chosen.digest})
        job = replace(job, checkpoint=job.checkpoint.beneath(key))
    found = {number: job.checkpoint.find(number) for number in numbers}
    tallies = {number: one.tally for number, one in found.items() if one}
    missing = [number for number in numbers if number not in tallies]
    done = sum(tally.rows for tally in tallies.values())
    job.options.progress(STEP, done, job.plan.decisions)
    tasks = job.tasks(missing)
    if chosen:
        tasks = (replace(task, kept=chosen.kept_for(task.chunk.number)) for task in tasks)
    work = partial(_finish, run=job.checkpoint.run, kind=job.checkpoint.kind)
    workers = job.workers(len(missing))
    for number, packed in work_on_chunks(workers, job.loaded, work, tasks):
        tallies[number] = job.checkpoint.keep(number, packed)
        done += tallies[number].rows
        job.options.progress(STEP, done, job.plan.decisions)
        if job.overtaken:
            break  # the rest is of no use
    return FinishedChunks(job, tallies)


def _finish(task: ChunkTask, loaded: LoadedModel, run: Run, kind: Kind) -> PackedChunk:
    scored = take_chunk(task, loaded, run) if task.kept else score(task, loaded, run)
    return pack(scored, kind)


def _choose(job: BatchJob, numbers: range) -> Chosen | None:
    """Offer what is missing, then choose for all rows; None where others have not offered yet."""
    menus = job.menus
    missing = [number for number in numbers if not menus.whole(number)]
    work = partial(offer_chunk, pools=job.settings["pools"])
    workers = job.workers(len(missing))
    done = len(numbers) - len(missing)
    tasks = job.tasks(missing)
    for number, menu in work_on_chunks(workers, job.loaded, work, tasks):
        menus.keep(number, menu)
        done += 1
        job.options.progress(OFFERS, done, len(numbers))
        if job.overtaken:
            return None
    menus = job.menus
    if len(menus.names) < len(job.plan.starts):
        return None
    config = job.loaded.answering.config
    return choose(menus, caps_of(config, config.constraints, job.settings["pools"]))
