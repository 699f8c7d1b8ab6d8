"""A batch of recommendations, from files to a file: bounded memory, resumable, whole or not there at all.

1. What the answers depend on (input files, version, rules) gives a key; parts of an earlier run with this key are kept.
2. Parts of 16,384 rows are decided one by one, here or in several processes, and written down as they are done.
3. The publish limits are compared with the figures of all parts. If one is broken, results go to another name, and no one else is told.
4. FROZEN is looked at again; then the decisions are logged; then the output gets its name.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from realloc.base.errors import ConfigError, LogError, PublishError, StoreError
from realloc.base.progress import Progress, silent
from realloc.base.version import __version__
from realloc.batch.all_rows import decide_together
from realloc.batch.asked import Asked, Opened, open_asked, with_rules
from realloc.batch.chunks import PART_ROWS, Part, cut, fingerprint_files, stamps
from realloc.batch.keys import Keys, look_at_keys
from realloc.batch.limits import broken_limits
from realloc.batch.publish import (
    ENDINGS,
    give_name,
    refused_name,
    summary_name,
    write_beside,
    write_json,
)
from realloc.batch.summary import summarise
from realloc.batch.tally import Tally
from realloc.batch.work import Work, close_work, key_of, only_run, open_work
from realloc.batch.workers import decide_parts
from realloc.logs.reading.read import plan_today
from realloc.logs.reading.source import Source, open_source
from realloc.model.config import Config
from realloc.storage.ledger.entry import Entry, sha256_file
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.store import Store
from realloc.storage.store.store import utc_now

STEP, DECISIONS = "decisions", "decisions"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to run; none of it changes an answer but `config` and `pools`."""

    config: Config | None = (
        None  # whose [decision], [constraints] and [publish] replace those of the fit
    )
    pools: dict[str, float] | None = None  # most money per channel over all rows
    jobs: int = 1  # processes
    force: bool = False  # publish although a limit is broken
    summary: Path | None = None
    decisions: Path | None = None  # folder of the decision log; None: in the store
    allow_network: bool = False
    part_rows: int = PART_ROWS
    progress: Progress = silent
    clock: Callable[[], datetime] = utc_now


@dataclass(frozen=True)
class Done:
    """What came of a run: its figures, and where everything is."""

    figures: dict[str, Any]
    out: Path
    summary: Path
    refused: tuple[str, ...] = ()  # limits that are broken, though it was forced


def recommend_file(today: Any, store: Path, out: Path, options: Options | None = None) -> Done:
    """Recommend for every row of files at a path (list, glob, folder); raises `PublishError` where limits are broken."""
    options = options or Options()
    if out.suffix not in ENDINGS:
        raise ConfigError(f"Expected `--out` to end in .parquet or .csv, got {out.name!r}.")
    place = Store(store, allow_network=options.allow_network, clock=options.clock)
    source = open_source(today)
    if not source.files:
        raise LogError(
            "Expected files to recommend for, got a frame. Use `model.recommend(frame)`."
        )
    if out.exists() and any(file.path.samefile(out) for file in source.files):
        raise ConfigError(
            f"Expected `--out` beside the input, but {str(out)!r} is the input itself. Name another file."
        )
    before, digest = stamps(source), fingerprint_files(source)
    if place.empty and place.frozen is None:
        place.load()  # its sentence, before anything is written
    was = _stamp(out)
    try:
        with only_run(out) as folder:
            while True:
                job = _prepare(place, source, digest, out, folder, options)
                tally = _decide(job, options)
                if stamps(source) != before:
                    raise LogError(
                        "Expected the input to stay as it is, but a file was replaced while it was read. Run again."
                    )
                done = None if job.overtaken else _end(job, tally, options)
                if done is not None:
                    return done
                # The store was frozen meanwhile: nothing that was decided may be published, so begin again.
    except OSError as problem:
        raise _explain(problem, out, was) from problem


def _stamp(out: Path) -> tuple[int, int] | None:
    """Which file has the name of the output; None where there is none."""
    return (out.stat().st_ino, out.stat().st_mtime_ns) if out.exists() else None


def _explain(problem: OSError, out: Path, was: tuple[int, int] | None) -> StoreError:
    """What an error of the disk means depends on whether the output got its name before it: looked up, not guessed."""
    told = f"{problem.strerror or problem}{f' at {problem.filename!r}' if problem.filename else ''}"
    if _stamp(out) != was:
        return StoreError(
            f"Expected the disk to confirm {str(out)!r}, but it failed: {told}. The new output is there, but a power loss may "
            "still undo it. Check the disk, then run the same command again."
        )
    return StoreError(
        f"Expected to write {str(out)!r}, but it failed: {told}. Nothing was published. What is finished is kept: make room or "
        "check the disk, and run the same command again."
    )


@dataclass(frozen=True)
class Job:
    """A run under way."""

    asked: Asked
    opened: Opened
    source: Source
    names: list[str]
    keys: Keys
    work: Work
    out: Path
    store: Store
    input: dict[str, Any]
    settings: dict[str, Any]
    why: str | None  # since when and why the store is frozen

    @property
    def overtaken(self) -> bool:
        """Whether the store was frozen since the run began."""
        return not self.asked.frozen and self.store.frozen is not None

    def parts(self, rows: int) -> Iterator[Part]:
        """The input, part by part."""
        return cut(self.source, self.names, rows)

    def count(self, rows: int) -> int:
        """How many parts there are."""
        return max(1, -(-self.keys.rows // rows))


def _prepare(
    store: Store, source: Source, digest: str, out: Path, folder: Path, options: Options
) -> Job:
    why = store.frozen
    frozen = why is not None
    current = None if frozen else store.current()
    asked = Asked(
        store.path,
        current.number if current else None,
        frozen=frozen,
        allow_network=options.allow_network,
    )
    asked = asked if frozen else with_rules(asked, options.config)
    opened = open_asked(asked)
    schema = opened.decider.schema
    keys = look_at_keys(source, schema)
    names = list(dict.fromkeys([schema.unit, schema.time, *plan_today(source, schema).columns]))
    settings = opened.settings | {"pools": options.pools or {}}
    together = bool(options.pools) or opened.together or (opened.remembers and keys.units_repeat)
    settings |= {"together": together and not frozen}
    told = {
        "input": digest,
        "version": asked.version,
        "model": opened.record.model,
        "settings": settings,
        "part_rows": options.part_rows,
        "realloc": __version__,
    }
    work = open_work(folder, key_of(told), store.clock(), asked.version)
    read = {"files": [file.label for file in source.files], "sha256": digest, "rows": keys.rows}
    return Job(asked, opened, source, names, keys, work, out, store, read, settings, why)


def _decide(job: Job, options: Options) -> Tally:
    """Every part that is not there yet; the tally of all of them."""
    if job.settings["together"]:
        parts = list(job.parts(options.part_rows))
        tallies = decide_together(
            job.opened, parts, job.keys, job.work, options.pools, options.progress
        )
    else:
        tallies = _decide_apart(job, options)
    found = Tally()
    for number in sorted(tallies):
        found = found.add(tallies[number])
    return found


def _decide_apart(job: Job, options: Options) -> dict[int, Tally]:
    tallies = {
        n: tally
        for n in range(job.count(options.part_rows))
        if (tally := job.work.has(n)) is not None
    }
    missing = (part for part in job.parts(options.part_rows) if part.number not in tallies)
    jobs = min(
        options.jobs, (job.count(options.part_rows) - len(tallies)) // 2
    )  # a process has to be worth its start
    done = sum(tally.rows for tally in tallies.values())
    options.progress(STEP, done, max(job.keys.rows, 1))
    for number, tally in decide_parts(
        job.asked, job.opened, missing, job.keys.repeated, job.work, jobs
    ):
        tallies[number] = tally
        done += tally.rows
        options.progress(STEP, done, max(job.keys.rows, 1))
        if job.overtaken:
            break  # the rest is of no use
    return tallies


def _end(job: Job, tally: Tally, options: Options) -> Done | None:
    """Figures, limits, log, output, in this order; None where the store was frozen meanwhile."""
    opened, frozen = job.opened, job.asked.frozen
    figures = _figures(job, tally)
    limits = options.config.publish if options.config else opened.limits
    broken = (
        () if frozen else tuple(broken_limits(figures, limits))
    )  # to change nothing is always safe
    held = bool(broken) and not options.force
    target = refused_name(job.out) if held else job.out
    place = write_beside(
        (job.work.answers(number) for number in range(job.count(options.part_rows))), target
    )
    figures |= {
        "broken_limits": list(broken),
        "forced": bool(broken) and options.force,
        "output": {"name": target.name, "sha256": sha256_file(place), "published": not held},
    }
    if held:
        give_name(place, target)
        write_json(figures, summary_name(target))
        raise PublishError(
            f"Nothing was published: {'; '.join(broken)}. The results lie in {str(target)!r}. Look at them, then publish with "
            "`--force`, or change [publish] of the config."
        )
    if job.overtaken:
        return None
    figures |= {"decision_log": _log(job, figures, options)}
    if job.overtaken:
        return None
    give_name(place, target)
    where = options.summary or summary_name(target)
    write_json(figures, where)
    close_work(job.work)
    return Done(figures, target, where, broken)


def _figures(job: Job, tally: Tally) -> dict[str, Any]:
    now, opened = job.store.clock(), job.opened
    told = {"run": job.work.run.id, "made": now.isoformat(timespec="seconds"), "frozen": job.why}
    figures = summarise(
        tally, opened.decider.schema.channels, opened.record, opened.decider.states, now
    )
    return told | figures | {"together": job.settings["together"], "input": job.input}


def _log(job: Job, figures: dict[str, Any], options: Options) -> dict[str, Any]:
    """Add the run to the decision log, unless it was stopped right after that; its number and digest there."""
    ledger, run, record = (
        Ledger(options.decisions or job.store.path / DECISIONS),
        job.work.run,
        job.opened.record,
    )
    entry = ledger.find(run.id)
    if entry is None:
        entry = ledger.append(
            Entry(
                number=0,
                previous=None,
                run=run.id,
                kind="batch",
                made=figures["made"],
                version=None if job.asked.frozen else run.version,
                model=None if job.asked.frozen else record.model,
                segments=(),
                rows=0,
                schema=json.loads(json.dumps(asdict(job.opened.decider.schema))),
                settings=job.settings,
                source=job.input | {"output": figures["output"]},
            ),
            [job.work.logged(number) for number in range(job.count(options.part_rows))],
        )
    return {"folder": str(ledger.path), "entry": entry.number, "digest": entry.digest}
