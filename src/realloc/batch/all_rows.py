"""Rules that look at all rows at once (caps over all units, a day's moved share, lags across rows): all rows in memory."""

from dataclasses import replace

import pyarrow as pa

from realloc.base.progress import Progress
from realloc.batch.asked import Opened
from realloc.batch.chunks import Part
from realloc.batch.keys import Keys
from realloc.batch.score import complete, finish, read_part
from realloc.batch.tally import Tally
from realloc.batch.work import Work, pack
from realloc.batch.workers import one_thread
from realloc.decide.types import tabulate
from realloc.logs.reading.read import Today


def decide_together(
    opened: Opened,
    parts: list[Part],
    keys: Keys,
    work: Work,
    pools: dict[str, float] | None,
    progress: Progress,
) -> dict[int, Tally]:
    """Decide on all rows at once and keep the answers as parts; a run that was stopped begins anew."""
    table = pa.concat_tables([part.source.frame for part in parts if part.source.frame is not None])
    whole = replace(parts[0], source=replace(parts[0].source, rows=table.num_rows, frame=table))
    today = read_part(whole, opened.decider.schema, keys.repeated)
    with one_thread():
        decision = opened.decide(today.logs, pools or None, progress)
    answers = complete(tabulate(today, decision, opened.decider.money_digits))
    return {part.number: _keep(opened, part, today, answers, work) for part in parts}


def _keep(opened: Opened, part: Part, today: Today, answers: pa.Table, work: Work) -> Tally:
    """One part of the answers to all rows; what could not be read is told with the first."""
    rows = part.source.rows or 0
    inside = (today.positions >= part.first) & (today.positions < part.first + rows)
    own = Today(
        today.logs.take(inside),
        today.positions[inside] - part.first,
        today.keys.slice(part.first, rows),
        today.findings if part.number == 0 else (),
    )
    scored = finish(
        part, own, answers.slice(part.first, rows).combine_chunks(), opened.decider, work.run
    )
    return work.keep(part.number, pack(scored))
