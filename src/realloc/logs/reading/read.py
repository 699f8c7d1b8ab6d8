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
from realloc.base.simplex import Integers
from realloc.logs.checks import leaks
from realloc.logs.checks.finding import Finding, listed
from realloc.logs.checks.whole_log import errors_of_rest
from realloc.logs.reading import keys
from realloc.logs.reading.columns import DAY_MICROS, NO_TIME
from realloc.logs.reading.intake import POSITION, CompactRows, Intake, RowPile
from realloc.logs.reading.options import ReadOptions
from realloc.logs.reading.pivot import pivot
from realloc.logs.reading.plan import ReadingPlan, make_plan
from realloc.logs.reading.source import BATCH_ROWS, Piece, Source, open_source
from realloc.logs.schema import Schema
from realloc.logs.table import Logs

OnProgress = Callable[[int, int | None], None]  # rows done, rows in all where known
Order = NDArray[np.int64] | slice


@dataclass(frozen=True)
class Loaded:
    """The logs, unless rows are wrong or none are left, and everything that was found."""

    logs: Logs | None
    findings: tuple[Finding, ...]
    features: tuple[str, ...] = ()  # what would be used
    categorical: tuple[str, ...] = ()  # … of these, what is a category


def read_logs(
    source: Any,
    schema: Schema,
    *,
    read: ReadOptions | None = None,
    on_progress: OnProgress | None = None,
    today: date | None = None,
) -> Logs:
    """Read and validate a log; if its rows are wrong, raise one `LogError` with every problem.

    `source`: a Parquet, CSV or Excel path, list of paths, glob or folder of partitions, or a
    pandas, polars or pyarrow table. `read`: how text is written, if not as the schema says. Rows
    are sorted by unit and time. Rows without budget or outcome are set aside and reported by
    `logs.check()`.
    """
    if not isinstance(schema, Schema):
        raise ConfigError(
            f"Expected a realloc.Schema that names the columns, got {type(schema).__name__}."
        )
    schema = replace(schema, read=read) if read else schema
    loaded = load(source, schema, on_progress=on_progress, today=today)
    if loaded.logs is None:
        raise LogError(explain(loaded.findings))
    return loaded.logs


def explain(findings: Sequence[Finding]) -> str:
    """All errors as one message."""
    return listed([finding.sentence for finding in findings if finding.level == "error"])


def load(
    source: Any,
    schema: Schema,
    *,
    on_progress: OnProgress | None = None,
    today: date | None = None,
) -> Loaded:
    """Read as far as possible: problems of rows are findings; only an unreadable source raises."""
    opened = open_source(source, schema.read)
    plan = make_plan(opened, schema)
    features = tuple(plan.features)
    today = today or datetime.now(UTC).date()
    intake = Intake(plan, today, opened.text, usable=RowPile(opened.rows))
    _stream(opened, intake, on_progress)
    rows = intake.usable.take_all()
    if plan.long and len(rows):
        rows = pivot(intake, rows).rows
    findings = [*plan.findings, *intake.tally.findings(), *keys.usage_notes(intake)]
    stopped = any(finding.stops_reading for finding in findings)
    if not len(rows) and not stopped:
        stopped = True
        findings.append(_nothing_left(intake.seen))
    if len(rows):
        table = _to_table(intake, rows)[0]
        findings += keys.check_keys(plan.schema, table)
        if not any(finding.code == "duplicates" for finding in findings):
            findings += keys.check_aside(intake, table)
        logs = Logs(plan.schema, table, features, tuple(findings))
        if not any(finding.stops_reading for finding in findings):
            return _screened(logs, intake)
        findings += errors_of_rest(logs)  # so that all errors are said at once
    categories = [name for name, kind in plan.features.items() if kind == "category"]
    return Loaded(None, tuple(findings), features, tuple(categories))


def _nothing_left(seen: int) -> Finding:
    return Finding(
        "no_rows",
        "error",
        f"Expected rows to learn from, but none of {seen:,} can be used",
        "The log is empty, or every row lacks a budget or an outcome.",
        "Check the schema's `outcome`, `budget` and `channels`.",
        rows=seen,
        stops_reading=True,
    )


@dataclass(frozen=True)
class LongRows:
    """The rows of the long layout as they were handed in."""

    keys: pa.Table  # unit, time and channel
    first: Integers  # the first row of each unit and time
    day: Integers  # the place of each row's unit and time among those of `Today`
    channel: Integers  # −1 where it is not one of the schema's


@dataclass(frozen=True)
class Today:
    """Rows to decide on: the usable ones as logs, their places in the input, and all rows' keys.

    Rows of the long layout are made wide: places are then those of a unit and time, in the order
    in which they first come.
    """

    logs: Logs
    positions: Integers
    keys: pa.Table
    findings: tuple[Finding, ...]
    long: LongRows | None = None

    @property
    def rows(self) -> Integers:
        """The row handed in, or the first one, that each of `keys` stands for."""
        return np.arange(self.keys.num_rows) if self.long is None else self.long.first


def plan_today(opened: Source, schema: Schema) -> ReadingPlan:
    """What is read of rows to decide on: never an outcome, even where there is one."""
    if opened.frame is not None and not opened.text:
        return _plan_frame(opened.columns, schema)
    return make_plan(opened, schema, need_outcome=False)


@lru_cache(maxsize=32)
def _plan_frame(columns: pa.Schema, schema: Schema) -> ReadingPlan:
    """The plan for a frame, which depends on types alone; the service asks for it every request."""
    return make_plan(Source(columns, None), schema, need_outcome=False)


def load_today(source: Any, schema: Schema) -> Today:
    """Read rows to decide on. They need no outcome, and a bad row does not stop the others."""
    opened = open_source(source, schema.read)
    plan = plan_today(opened, schema)
    intake = Intake(plan, date.max, opened.text, forgive=True, usable=RowPile(opened.rows))
    _stream(opened, intake, None)
    if intake.usable.rows is None:  # a piece without rows, so that every column is there
        fields = opened.columns.empty_table().select(plan.columns).schema
        intake.take(Piece(pa.RecordBatch.from_pylist([], fields), "", 1))
    names = [schema.unit, schema.time]
    names += [str(schema.channel_column)] if plan.long else []
    batches = [piece.batch for piece in opened.pieces(names)]
    if batches:
        given = pa.Table.from_batches(batches)
    else:
        given = opened.columns.empty_table().select(names)
    rows = intake.usable.take_all()
    long = None
    if plan.long:
        wide = pivot(intake, rows)
        long = LongRows(given, wide.first, wide.day, wide.channel)
        given = given.select(names[:2]).take(wide.first)
        rows = wide.rows
    positions = rows.columns.pop(POSITION)
    table, order = _to_table(intake, rows)
    logs = Logs(plan.schema, table, tuple(plan.features), plan.findings)
    return Today(logs, positions[order], given, tuple(intake.tally.findings()), long)


def _stream(opened: Source, intake: Intake, on_progress: OnProgress | None) -> None:
    try:
        for piece in opened.pieces(intake.plan.columns):
            intake.take(piece)
            if on_progress:
                on_progress(intake.seen, opened.rows)
    except pa.ArrowException as problem:
        detail = " ".join(str(problem).split())[:200]
        raise LogError(
            "Expected columns that convert to their part in the schema, but one does not: "
            f"{detail}."
        ) from problem
    if intake.seen >= BATCH_ROWS:
        pa.default_memory_pool().release_unused()


def _to_table(intake: Intake, rows: CompactRows) -> tuple[pa.Table, Order]:
    """The rows sorted by unit and time, in Arrow's types; also the order. Empties `rows`."""
    schema = intake.plan.schema
    units, place = intake.unit_words.sorted()
    codes = place[rows.units]
    order = _order(codes, rows.times)
    arrays: dict[str, pa.Array] = {
        schema.unit: pa.DictionaryArray.from_arrays(pa.array(codes[order]), units),
        schema.time: _time_array(rows.times[order]),
    }
    for name in dict.fromkeys([*schema.fixed_columns, *intake.plan.features]):
        if name in rows.columns:
            arrays[name] = _typed_array(intake, name, rows.columns.pop(name)[order])
    return pa.table(arrays), order


def _order(codes: NDArray[np.int32], times: Integers) -> Order:
    """The order by unit and time; a slice, which copies nothing, where rows are sorted already."""
    step = np.diff(codes)
    later = np.diff(times) >= 0
    if np.all((step > 0) | ((step == 0) & later)):
        return slice(None)
    return np.lexsort((times, codes))


def _time_array(times: Integers) -> pa.Array:
    missing = times == NO_TIME
    if np.any(times[~missing] % DAY_MICROS):
        return pa.array(times, pa.int64(), mask=missing).cast(pa.timestamp("us"))
    days = (times // DAY_MICROS).astype(np.int32)
    return pa.array(days, pa.int32(), mask=missing).cast(pa.date32())


def _typed_array(intake: Intake, name: str, values: NDArray[Any]) -> pa.Array:
    kind = intake.plan.features.get(name)
    if name in intake.words:
        words, place = intake.words[name].sorted()
        codes = np.append(place, np.int32(-1))[values]
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), words)
    if kind == "time":
        return _time_array(values)
    if kind == "bool":
        return pa.array(values == 1, pa.bool_(), mask=np.isnan(values))
    return pa.array(values)


def _screened(logs: Logs, intake: Intake) -> Loaded:
    """Leave out unsafe or empty features, or refuse impossible ones if the user listed them."""
    chosen = intake.plan.chosen
    crowded = {
        name: leaks.too_many(name, chosen)
        for name in logs.features
        if name in intake.words and intake.words[name].overflow
    }
    if not chosen:
        notes = (*logs.notes, *crowded.values())
        return _loaded(logs, notes) if not crowded else Loaded(None, notes)
    bounded = tuple(name for name in logs.features if name not in crowded)
    left_out = crowded | leaks.unsafe_features(replace(logs, features=bounded))
    kept = tuple(name for name in bounded if name not in left_out)
    notes = (*logs.notes, *left_out.values())
    table = logs.table.drop_columns(
        [name for name in left_out if name != logs.schema.currency]
    )
    return _loaded(Logs(logs.schema, table, kept, notes), notes)


def _loaded(logs: Logs, notes: tuple[Finding, ...]) -> Loaded:
    kinds = {name: logs.table[name].type for name in logs.features}
    categories = [name for name, kind in kinds.items() if pa.types.is_dictionary(kind)]
    return Loaded(logs, notes, logs.features, tuple(categories))
