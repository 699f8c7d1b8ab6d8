"""Reading logs: source → plan → intake, piece by piece → one sorted, compact, validated table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.logs.checks import leaks
from realloc.logs.checks.finding import Finding
from realloc.logs.reading import keys
from realloc.logs.reading.columns import DAY_MICROS, NO_TIME
from realloc.logs.reading.intake import POSITION, Intake, Pile, Rows
from realloc.logs.reading.pivot import pivot
from realloc.logs.reading.plan import Plan, make_plan
from realloc.logs.reading.source import BATCH_ROWS, Piece, Source, open_source
from realloc.logs.schema import Schema
from realloc.logs.table import Logs

OnProgress = Callable[[int, int | None], None]  # rows done, rows in all where known


@dataclass(frozen=True)
class Loaded:
    """What came of reading: the logs, unless rows are wrong or none are left, and everything that was found."""

    logs: Logs | None
    findings: tuple[Finding, ...]
    features: tuple[str, ...] = ()  # what would be used


def read_logs(
    source: Any, schema: Schema, *, on_progress: OnProgress | None = None, today: date | None = None
) -> Logs:
    """Read and validate a log. Raises `LogError` with every problem in one message if its rows are wrong.

    `source`: a Parquet or CSV path, list of paths, glob or folder of partitions, or a pandas, polars or pyarrow table.
    Rows are sorted by unit and time. Rows without budget or outcome are set aside and reported by `logs.check()`.
    """
    if not isinstance(schema, Schema):
        raise ConfigError(
            f"Expected a realloc.Schema that names the columns, got {type(schema).__name__}."
        )
    loaded = load(source, schema, on_progress=on_progress, today=today)
    if loaded.logs is None:
        raise LogError(explain(loaded.findings))
    return loaded.logs


def explain(findings: Sequence[Finding]) -> str:
    """All errors as one message."""
    errors = [finding.sentence for finding in findings if finding.level == "error"]
    if len(errors) == 1:
        return errors[0]
    return f"{len(errors)} problems in the log:\n" + "\n".join(
        f"  {i}. {text}" for i, text in enumerate(errors, 1)
    )


def load(
    source: Any,
    schema: Schema,
    *,
    need_outcome: bool = True,
    on_progress: OnProgress | None = None,
    today: date | None = None,
) -> Loaded:
    """Read as far as possible: problems of rows are findings; only a source that cannot be read at all raises."""
    opened = open_source(source)
    plan = make_plan(opened, schema, need_outcome)
    intake = Intake(
        plan, today or datetime.now(UTC).date(), opened.text, pile=Pile(opened.rows or BATCH_ROWS)
    )
    _stream(opened, plan, intake, on_progress)
    rows = intake.pile.take_all()
    if schema.long:
        rows = pivot(intake, rows)
    findings = [*plan.findings, *intake.tally.findings(), *keys.usage_notes(intake)]
    if any(finding.stops_reading for finding in findings):
        return Loaded(None, tuple(findings), tuple(plan.features))
    if not len(rows):
        return Loaded(None, (*findings, _nothing_left(intake)), tuple(plan.features))
    table, _ = _to_table(intake, rows)
    findings += keys.check_keys(plan.schema, table) or keys.check_aside(intake, table)
    if any(finding.stops_reading for finding in findings):
        return Loaded(None, tuple(findings), tuple(plan.features))
    logs = Logs(plan.schema, table, tuple(plan.features), tuple(findings))
    return _screened(logs, plan, intake)


@dataclass(frozen=True)
class Today:
    """Rows to decide on: the usable ones as logs, where each stands in what was handed in, and the keys of all."""

    logs: Logs
    positions: NDArray[np.int64]
    keys: pa.Table
    findings: tuple[Finding, ...]


def plan_today(opened: Source, schema: Schema) -> Plan:
    """What is read of rows to decide on: never an outcome, even where there is one."""
    if opened.frame is not None and not opened.text:  # kinds of text follow from the values
        return _plan_frame(opened.columns, schema)
    return replace(make_plan(opened, schema, need_outcome=False), has_outcome=False)


@lru_cache(maxsize=32)
def _plan_frame(columns: pa.Schema, schema: Schema) -> Plan:
    """The same for a frame, of which only the columns and their types count: a service asks for it with every request."""
    return replace(make_plan(Source(columns, None), schema, need_outcome=False), has_outcome=False)


def load_today(source: Any, schema: Schema) -> Today:
    """Read rows to decide on. They need no outcome, and a bad row is left out instead of stopping all others."""
    if schema.long:
        raise LogError(
            "Expected one row per unit to decide on (wide layout), got a schema of the long layout."
        )
    opened = source if isinstance(source, Source) else open_source(source)
    plan = plan_today(opened, schema)
    intake = Intake(plan, date.max, opened.text, forgive=True, pile=Pile(opened.rows or BATCH_ROWS))
    _stream(opened, plan, intake, None)
    if (
        not intake.pile.count
    ):  # a piece without rows, so that every column is there also where no row can be used
        none = pa.RecordBatch.from_pylist(
            [], opened.columns.empty_table().select(plan.columns).schema
        )
        intake.take(Piece(none, "", 1))
    batches = [piece.batch for piece in opened.pieces([schema.unit, schema.time])]
    given = (
        pa.Table.from_batches(batches)
        if batches
        else opened.columns.empty_table().select([schema.unit, schema.time])
    )
    rows = intake.pile.take_all()
    positions = rows.columns.pop(POSITION, np.empty(0, np.int64))
    table, order = _to_table(intake, rows)
    logs = Logs(plan.schema, table, tuple(plan.features), plan.findings)
    return Today(logs, _taken(positions, order), given, tuple(intake.tally.findings()))


def _stream(opened: Source, plan: Plan, intake: Intake, on_progress: OnProgress | None) -> None:
    try:
        for piece in opened.pieces(plan.columns):
            intake.take(piece)
            if on_progress:
                on_progress(intake.seen, opened.rows)
    except pa.ArrowException as problem:
        detail = " ".join(str(problem).split())[:200]
        raise LogError(
            f"Expected columns that convert to their part in the schema, but one does not: {detail}."
        ) from problem
    if intake.seen >= BATCH_ROWS:
        pa.default_memory_pool().release_unused()


def _to_table(intake: Intake, rows: Rows) -> tuple[pa.Table, NDArray[np.int64] | None]:
    """Sort by unit and time and give every column its Arrow type; also the order. Consumes `rows`."""
    schema, plan = intake.plan.schema, intake.plan
    unit_values, place = intake.unit_words.sorted()
    codes = place[rows.units]
    order = _order(codes, rows.times)
    arrays: dict[str, pa.Array] = {
        schema.unit: pa.DictionaryArray.from_arrays(pa.array(_taken(codes, order)), unit_values)
    }
    times = _taken(rows.times, order)
    arrays[schema.time] = _time_array(times)
    fixed = [name for name in schema.fixed_columns if name in rows.columns]
    for name in dict.fromkeys([*fixed, *plan.features]):
        values = _taken(rows.columns.pop(name), order)
        arrays[name] = _typed_array(intake, name, values)
    return pa.table(arrays), order


def _order(codes: NDArray[np.int32], times: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The order by unit and time, or None where rows stand in it already."""
    step = np.diff(codes)
    if np.all((step > 0) | ((step == 0) & (np.diff(times) >= 0))):
        return None
    return np.lexsort((times, codes))


def _taken(values: NDArray[Any], order: NDArray[np.int64] | None) -> NDArray[Any]:
    return values if order is None else values[order]


def _time_array(times: NDArray[np.int64]) -> pa.Array:
    missing = times == NO_TIME
    mask = missing if missing.any() else None
    if not np.any(times[~missing] % DAY_MICROS):
        return pa.array((times // DAY_MICROS).astype(np.int32), pa.int32(), mask=mask).cast(
            pa.date32()
        )
    return pa.array(times, pa.int64(), mask=mask).cast(pa.timestamp("us"))


def _typed_array(intake: Intake, name: str, values: NDArray[Any]) -> pa.Array:
    if name in intake.words:
        words, place = intake.words[name].sorted()
        codes = np.append(place, -1)[values].astype(np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), words)
    kind = intake.plan.features.get(name)
    if kind == "time":
        return _time_array(values)
    if kind == "bool":
        return pa.array(values == 1, pa.bool_(), mask=np.isnan(values))
    return pa.array(values)


def _screened(logs: Logs, plan: Plan, intake: Intake) -> Loaded:
    """Leave out features that turn out unsafe or empty, where the choice was ours; refuse impossible ones where not."""
    overflown = [name for name, words in intake.words.items() if words.overflow]
    if not plan.chosen:
        crowded = [leaks.too_many(name, plan.chosen) for name in overflown if name in plan.features]
        notes = (*logs.notes, *crowded)
        return Loaded(None if crowded else replace(logs, notes=notes), notes)
    left_out = {
        name: leaks.too_many(name, plan.chosen) for name in overflown if name in plan.features
    }
    left_out |= leaks.unsafe_features(
        replace(logs, features=tuple(n for n in logs.features if n not in left_out))
    )
    kept = tuple(name for name in logs.features if name not in left_out)
    notes = (*logs.notes, *left_out.values())
    table = logs.table.drop_columns([name for name in left_out if name != logs.schema.currency])
    return Loaded(Logs(logs.schema, table, kept, notes), notes)


def _nothing_left(intake: Intake) -> Finding:
    return Finding(
        code="no_rows",
        level="error",
        what=f"Expected rows to learn from, but none of {intake.seen:,} can be used",
        meaning="The log is empty, or every row lacks a budget or an outcome.",
        advice="Check the schema's `outcome`, `budget` and `channels`.",
        rows=intake.seen,
        stops_reading=True,
    )
