"""One part: read its rows, decide, and make of it the answers, the rows of the decision log, and the tally."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.batch.chunks import Part
from realloc.batch.tally import DUPLICATE, Tally, count_part
from realloc.decide.types import Decision, tabulate
from realloc.logs import Logs, Schema
from realloc.logs.checks.finding import Finding
from realloc.logs.reading.read import Today, load_today
from realloc.monitor.drift import count_columns
from realloc.storage.ledger.rows import Run, log_rows

# What recommendations hold beyond the contract; answers that no model was asked for leave it empty.
FURTHER = {
    "sigma": pa.float64(),
    "binding": pa.string(),
    "best_move": pa.string(),
    "best_gain": pa.float64(),
    "best_sigma": pa.float64(),
    "omega": pa.float64(),
    "neighbours": pa.int64(),
    "neighbour_ids": pa.string(),
    "certificate": pa.string(),
}


@dataclass(frozen=True)
class Decider:
    """Whoever decides: which rows it reads, and the answer to them. A row's answer must not depend on other rows."""

    schema: Schema
    decide: Callable[[Logs], Decision]
    money_digits: int
    level: (
        float | None
    )  # part of logged actions that the support holds; for counting only; None: nobody looks at support
    states: dict[str, Any] | None  # summary of the training window; None: not known


@dataclass(frozen=True)
class Scored:
    """What came of a part."""

    answers: pa.Table
    logged: pa.Table
    tally: Tally


def score(part: Part, decider: Decider, repeated: NDArray[np.int64], run: Run) -> Scored:
    """Decide on a part; `repeated` are positions in the whole input of rows whose key occurs more than once."""
    today = read_part(part, decider.schema, repeated)
    answers = complete(tabulate(today, decider.decide(today.logs), decider.money_digits))
    return finish(part, today, answers, decider, run)


def finish(part: Part, today: Today, answers: pa.Table, decider: Decider, run: Run) -> Scored:
    """The answers to a part's rows, with what is written down about them."""
    states = {} if decider.states is None else count_columns(decider.states, today.logs)
    return Scored(
        answers,
        log_rows(answers, today.logs, today.positions, part.first, run),
        count_part(answers, today, decider.level, states),
    )


def read_part(part: Part, schema: Schema, repeated: NDArray[np.int64]) -> Today:
    """A part's usable rows; those that repeat a key are not."""
    today = load_today(part.source, schema)
    twice = np.isin(today.positions + part.first, repeated)
    if not twice.any():
        return today
    first = today.logs.take(twice).to_arrow()
    unit, day = (str(first[name][0].as_py()) for name in (schema.unit, schema.time))
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


def complete(answers: pa.Table) -> pa.Table:
    """The same columns in the same order and types, whoever answered."""
    for name, kind in FURTHER.items():
        if name not in answers.column_names:
            answers = answers.append_column(name, pa.nulls(answers.num_rows, kind))
    return answers
