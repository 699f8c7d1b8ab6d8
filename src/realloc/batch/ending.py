"""How a run ends once all its chunks are finished: figures, limits, the decision log."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from realloc.base import disk
from realloc.base.errors import PublishError
from realloc.batch.job import BatchJob
from realloc.batch.limits import broken_limits
from realloc.batch.summary import LoggedAs, RunSummary, summarise
from realloc.batch.tally import Tally
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.ledger import DECISIONS, Ledger


def sum_up(job: BatchJob, tallies: Mapping[int, Tally]) -> RunSummary:
    """The figures of all chunks, and which limits they break."""
    total = Tally()
    for number in sorted(tallies):
        total = total.add(tallies[number])
    summary = summarise(
        total,
        job.loaded,
        job.loaded.record,
        job.checkpoint.run,
        job.store.clock(),
        frozen=job.why_frozen,
        all_rows=job.settings["all_rows"],
        source=job.input,
    )
    config = job.options.config
    limits = config.publish if config else job.loaded.limits
    # To change nothing is always safe.
    broken = () if job.why_frozen else tuple(broken_limits(summary, limits))
    return replace(summary, broken_limits=broken, forced=bool(broken) and job.options.force)


def refusal(summary: RunSummary, where: str | Path) -> PublishError:
    """What a run says that may not publish its results."""
    return PublishError(
        f"Nothing was published: {'; '.join(summary.broken_limits)}. The results lie in "
        f"{str(where)!r}. Look at them, then publish with `--beyond-limits`, or change [publish] "
        "of the config."
    )


def write_summary(summary: RunSummary, path: Path) -> None:
    """Write the figures as JSON."""
    disk.replace_file(path, pack_summary(summary))


def pack_summary(summary: RunSummary) -> bytes:
    """The figures as a JSON file."""
    return json.dumps(summary.to_json(), indent=2, ensure_ascii=False).encode() + b"\n"


def log_run(job: BatchJob, summary: RunSummary) -> LoggedAs:
    """Add the run to the decision log, unless a run that was stopped right after did."""
    ledger = Ledger(job.options.decisions or job.store.path / DECISIONS)
    run = job.checkpoint.run
    frozen = job.why_frozen is not None
    output = asdict(summary.output) if summary.output else {}
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
            | {"output": output}
            | {"searches": summary.searches, "figures": summary.figures()},
        ),
        map(job.checkpoint.logged, job.plan.numbers),
    )
    return LoggedAs(str(ledger.path), entry.number, entry.digest)
