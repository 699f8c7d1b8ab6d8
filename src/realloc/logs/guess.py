"""A first schema from the data alone: dates, channels, budget, unit and outcome by name, type and arithmetic."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.optimize import nnls

from realloc.errors import LogError
from realloc.logs import columns, names
from realloc.logs.arrow import compute as pc
from realloc.logs.plan import guess_text_kinds
from realloc.logs.schema import Schema
from realloc.logs.source import Source

Floats = NDArray[np.float64]
SAMPLE_ROWS = 200_000
FIT_ROWS = 4000


@dataclass(frozen=True)
class Sample:
    """The first rows of a source, by what kind of values each column holds."""

    table: pa.Table
    numbers: dict[str, Floats]
    texts: tuple[str, ...]
    wholes: tuple[str, ...]  # numbers that are whole, so may be ids
    times: dict[str, NDArray[np.int64]]


def guess_schema(source: Source) -> Schema:
    """The most plausible schema; raises with what could not be found. Features are left to be chosen when reading."""
    sample = _sample(source)
    time = _find_time(sample)
    channels, shares = _find_channels(sample)
    budget = _find_budget(sample, channels) if shares else None
    unit = _find_unit(sample, time, channels)
    taken = {time, unit, budget, *channels}
    propensity = next((name for name in sample.numbers if "propensity" in names.words(name)), None)
    outcome = _find_outcome(sample, {*taken, propensity})
    currency = [name for name in sample.texts if names.looks_currency(name) and name != unit]
    return Schema(
        unit=unit,
        time=time,
        outcome=outcome,
        channels=channels,
        budget=budget,
        propensity=propensity,
        currency=currency[0] if len(currency) == 1 else None,
    )


def _sample(source: Source) -> Sample:
    listed = source.columns.names
    table = _first_rows(source, listed)
    kinds = guess_text_kinds(Source(table.schema, table.num_rows, True, frame=table), listed) if source.text else {}
    numbers: dict[str, Floats] = {}
    times: dict[str, NDArray[np.int64]] = {}
    texts: list[str] = []
    wholes: list[str] = []
    for name in listed:
        column = table[name].combine_chunks()
        kind = kinds.get(name) or _typed(column)
        if kind == "number":
            numbers[name] = columns.to_numbers(column, name, allow_text=source.text).values
            whole = pa.types.is_integer(column.type) or (source.text and _all_whole(numbers[name]))
            wholes += [name] if whole else []
        elif kind == "time":
            times[name] = columns.to_times(column, name)[0].values
        elif kind == "category":
            texts.append(name)
    return Sample(table, numbers, tuple(texts), tuple(wholes), times)


def _first_rows(source: Source, listed: list[str]) -> pa.Table:
    pieces: list[pa.RecordBatch] = []
    for piece in source.pieces(listed):
        pieces.append(piece.batch)
        if sum(batch.num_rows for batch in pieces) >= SAMPLE_ROWS:
            break
    if not sum(batch.num_rows for batch in pieces):
        raise LogError("Expected rows to find a schema from, but the log is empty.")
    return pa.Table.from_batches(pieces)


def _typed(column: pa.Array) -> str | None:
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "time"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if not columns.is_text(kind):
        return None
    parsed = columns.to_times(column, "")[0]
    dated = not parsed.bad.any() and bool(np.any(parsed.values != columns.NO_TIME))
    return "time" if dated else "category"


def _all_whole(values: Floats) -> bool:
    given = values[np.isfinite(values)]
    return bool(len(given) and np.all(given == np.rint(given)))


def _find_time(sample: Sample) -> str:
    if not sample.times:
        raise LogError(
            "Expected a column of dates (YYYY-MM-DD), but none of the columns holds them: "
            f"{', '.join(sample.table.column_names[:20])}. Convert the date column first."
        )
    return min(sample.times, key=lambda name: names.rank(name, names.TIME))


def _find_channels(sample: Sample) -> tuple[tuple[str, ...], bool]:
    """The channel columns and whether they are shares: by name first, then by what sums to 1 or to the budget."""
    amounts = {name: v for name, v in sample.numbers.items() if _is_amount(v) and not names.looks_earlier(name)}
    named = [name for name in amounts if set(names.words(name)) & set(names.SPEND)]
    named = [name for name in named if not set(names.words(name)) & (names.TOTAL | {"budget"})]
    if len(named) >= 2:
        return tuple(named), _sums_to_one([amounts[name] for name in named])
    small = {name: values for name, values in amounts.items() if np.nanmax(values) <= 1 + 1e-6}
    shares = [name for name in small if set(names.words(name)) & set(names.SHARE)]
    if len(shares) >= 2 and _sums_to_one([small[name] for name in shares]):
        return tuple(shares), True
    found = _summands(small, np.ones(sample.table.num_rows))
    if found:
        return found, True
    for name in sorted(amounts, key=lambda name: names.rank(name, names.BUDGET)):
        if names.rank(name, names.BUDGET) < 2 * len(names.BUDGET):
            rest = {other: values for other, values in amounts.items() if other != name}
            found = _summands(rest, amounts[name])
            if found:
                return found, False
    raise LogError(
        "Expected two or more channel columns (named like `ads_spend` or `share_ads`, or summing to 1 or to a budget), "
        f"but found none among the numbers: {', '.join(list(sample.numbers)[:20]) or 'there are none'}. "
        "Write a [schema] table by hand: unit, time, outcome, channels."
    )


def _is_amount(values: Floats) -> bool:
    given = values[~np.isnan(values)]
    return bool(len(given) and np.all(np.isfinite(given)) and given.min() >= 0 and given.max() > 0)


def _sums_to_one(values: list[Floats]) -> bool:
    return bool(np.mean(np.abs(np.nansum(values, axis=0) - 1) < 1e-4) > 0.95)


def _summands(candidates: dict[str, Floats], total: Floats) -> tuple[str, ...]:
    """The columns that add up to `total` with weight 1 each (non-negative least squares), or nothing."""
    if len(candidates) < 2:
        return ()
    listed = list(candidates)
    stride = -(-len(total) // FIT_ROWS)
    matrix = np.nan_to_num(np.stack([candidates[name][::stride] for name in listed], axis=1))
    goal = np.nan_to_num(total[::stride])
    scale = max(float(np.abs(goal).max()), 1e-12)
    weights, residual = nnls(matrix / scale, goal / scale)
    near_one = np.abs(weights - 1) < 1e-3
    exact = residual < 1e-3 * np.sqrt(len(goal)) and np.all(near_one | (weights < 1e-3))
    return (
        tuple(name for name, used in zip(listed, near_one, strict=True) if used)
        if exact and near_one.sum() >= 2
        else ()
    )


def _find_budget(sample: Sample, channels: tuple[str, ...]) -> str | None:
    able = [name for name, values in sample.numbers.items() if _is_amount(values) and name not in channels]
    named = [
        name
        for name in able
        if names.rank(name, names.BUDGET) < 2 * len(names.BUDGET) and not names.looks_earlier(name)
    ]
    return min(named, key=lambda name: names.rank(name, names.BUDGET)) if named else None


def _find_unit(sample: Sample, time: str, channels: tuple[str, ...]) -> str:
    """A text or whole-number column that has at most one row per date, preferably named like an id."""
    named = [
        name for name in sample.wholes if names.rank(name, names.UNIT) < 2 * len(names.UNIT) and name not in channels
    ]
    candidates = [*sample.texts, *named]
    fitting: list[tuple[int, int, str]] = []
    for name in candidates:
        codes = columns.Vocabulary().encode(_key(sample.table[name].combine_chunks()))
        keys = np.stack([codes.astype(np.int64), sample.times[time]], axis=1)
        if (codes >= 0).all() and len(np.unique(keys, axis=0)) == len(keys):
            fitting.append((names.rank(name, names.UNIT), len(np.unique(codes)), name))
    if not fitting:
        raise LogError(
            f"Expected a column of ids with at most one row per {time!r}, but none fits "
            f"({', '.join(candidates[:10]) or 'there is no text or id column'}). A log with one row per channel needs "
            "`channel_column` and `spend_column` in the schema; repeated rows must be dropped first."
        )
    return min(fitting)[2]


def _key(column: pa.Array) -> pa.Array:
    plain = columns.decoded(column)
    return pc.cast(plain, pa.string()) if columns.is_text(plain.type) else plain


def _find_outcome(sample: Sample, taken: set[str | None]) -> str:
    able = [name for name in sample.numbers if name not in taken and not names.looks_earlier(name)]
    named = [name for name in able if names.rank(name, names.OUTCOME) < 2 * len(names.OUTCOME)]
    if not named:
        raise LogError(
            "Expected an outcome column (named like orders, purchases, conversions, sales, revenue or outcome), but "
            f"found none among {', '.join(able[:20]) or 'the numbers'}. Write a [schema] table by hand."
        )
    return min(named, key=lambda name: _outcome_rank(name, named))


def _outcome_rank(name: str, order: list[str]) -> tuple[int, bool, int, int]:
    parts = names.words(name)
    return names.rank(name, names.OUTCOME), not set(parts) & names.TOTAL, len(parts), order.index(name)
