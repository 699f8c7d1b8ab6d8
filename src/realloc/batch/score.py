"""One chunk: read its rows, decide, make the answers, the rows of the decision log, the tally."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from realloc.base.simplex import Integers
from realloc.batch.chunks import Chunk
from realloc.batch.tally import DUPLICATE, Tally, count_chunk
from realloc.batch.workers import ChunkTask
from realloc.decide.columns import complete
from realloc.decide.types import Decision, as_handed_in, tabulate
from realloc.logs import Schema
from realloc.logs.checks.finding import Finding
from realloc.logs.reading.read import Today, load_today
from realloc.monitor.drift import count_columns
from realloc.serve.load import LoadedModel
from realloc.storage.ledger.rows import Run, log_rows


@dataclass(frozen=True)
class ScoredChunk:
    """A chunk's answers, its rows of the decision log, and its tally."""

    answers: pa.Table
    logged: pa.Table
    tally: Tally


def score(task: ChunkTask, loaded: LoadedModel, run: Run) -> ScoredChunk:
    """Decide on a chunk."""
    today = read_chunk(task.chunk, loaded.schema, task.repeated)
    return finish(task.chunk, today, loaded.decide(today.logs), loaded, run)


def finish(
    chunk: Chunk, today: Today, decision: Decision, loaded: LoadedModel, run: Run
) -> ScoredChunk:
    """Make the answers, and what is logged and counted about them."""
    answers = complete(tabulate(today, decision, loaded.money_digits), loaded.schema)
    states = {} if loaded.states is None else count_columns(loaded.states, today.logs)
    tally = count_chunk(answers, today, loaded.level, states)
    return ScoredChunk(
        as_handed_in(answers, today),
        log_rows(answers, today, chunk.first, run),
        replace(tally, searches=decision.searches),
    )


def read_chunk(chunk: Chunk, schema: Schema, repeated: Integers) -> Today:
    """Read a chunk's usable rows; those that repeat a key are not usable."""
    today = load_today(chunk.source, schema)
    twice = np.isin(today.positions + chunk.first, repeated)
    if not twice.any():
        return today
    duplicates = today.logs.take(twice).to_arrow()
    unit = str(duplicates[schema.unit][0].as_py())
    day = str(duplicates[schema.time][0].as_py())
    finding = Finding(
        code=DUPLICATE,
        level="error",
        what=f"Expected one row per unit and date, got more for {unit!r} on {day}",
        meaning="Which of them is right would be a guess, so none is moved.",
        advice="Keep one row per unit and date.",
        unit=unit,
        date=day,
        rows=int(twice.sum()),
    )
    return replace(
        today,
        logs=today.logs.take(~twice),
        positions=today.positions[~twice],
        findings=(*today.findings, finding),
    )
