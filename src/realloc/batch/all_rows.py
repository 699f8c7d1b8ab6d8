"""Rules that look at all rows at once: caps over all units, a day's moved share, lags over rows."""

from dataclasses import replace

import pyarrow as pa

from realloc.base.progress import Progress
from realloc.batch.checkpoint import Checkpoint, pack
from realloc.batch.chunks import Chunk
from realloc.batch.keys import Keys
from realloc.batch.score import complete, finish, read_chunk
from realloc.batch.tally import Tally
from realloc.decide.types import tabulate
from realloc.logs.reading.read import Today
from realloc.serve.load import LoadedModel


def decide_all_rows(
    loaded: LoadedModel,
    chunks: list[Chunk],
    keys: Keys,
    checkpoint: Checkpoint,
    pools: dict[str, float] | None,
    progress: Progress,
) -> dict[int, Tally]:
    """Decide on all rows in memory and keep the answers as chunks; a stopped run begins anew."""
    frames = [chunk.source.frame for chunk in chunks if chunk.source.frame is not None]
    table = pa.concat_tables(frames)
    whole = replace(
        chunks[0], source=replace(chunks[0].source, rows=table.num_rows, frame=table)
    )
    today = read_chunk(whole, loaded.schema, keys.repeated)
    decision = loaded.decide(today.logs, pools or None, progress)
    answers = complete(tabulate(today, decision, loaded.money_digits), loaded.schema)
    tallies = {
        chunk.number: _keep(loaded, chunk, today, answers, checkpoint) for chunk in chunks
    }
    # Searches are counted over all rows: they go with the first chunk, as findings do.
    first = chunks[0].number
    tallies[first] = replace(tallies[first], searches=decision.searches)
    return tallies


def _keep(
    loaded: LoadedModel,
    chunk: Chunk,
    today: Today,
    answers: pa.Table,
    checkpoint: Checkpoint,
) -> Tally:
    """Keep one chunk of the answers; what could not be read is reported with the first."""
    rows = chunk.source.rows or 0
    inside = (today.positions >= chunk.first) & (today.positions < chunk.first + rows)
    of_chunk = replace(
        today,
        logs=today.logs.take(inside),
        positions=today.positions[inside] - chunk.first,
        keys=today.keys.slice(chunk.first, rows),
        findings=today.findings if chunk.number == 0 else (),
    )
    part = answers.slice(chunk.first, rows).combine_chunks()
    scored = finish(chunk, of_chunk, part, loaded, checkpoint.run)
    return checkpoint.keep(chunk.number, pack(scored))
