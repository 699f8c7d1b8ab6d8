"""A first schema from the data alone: dates, channels, budget, unit and outcome by name, type and arithmetic.

A guess tolerates a few bad cells, so that the check can report them: a channel with one negative spend is a channel.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.validation import nearest
from realloc.logs import names
from realloc.logs.reading import columns
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.source import Source
from realloc.logs.schema import Schema

Floats = NDArray[np.float64]
SAMPLE_ROWS = 200_000
FIT_ROWS = 4000
MOSTLY = 0.9  # part of a column's values that must be of a kind
NEARLY_UNIQUE = 0.98
WHOLES = (1.0, 100.0, 10_000.0)  # what shares, percents and basis points sum to


@dataclass(frozen=True, kw_only=True)
class Hints:
    """What the user already knows."""

    unit: str | None = None
    time: str | None = None
    outcome: str | None = None
    channels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sample:
    """The first rows of a source, by what kind of values each column holds."""

    table: pa.Table
    numbers: dict[str, Floats]
    texts: tuple[str, ...]
    wholes: tuple[str, ...]  # numbers that are whole, so may be ids
    times: dict[str, NDArray[np.int64]]


def guess_schema(source: Source, hints: Hints | None = None) -> Schema:
    """The most plausible schema; raises with what could not be found. Features are left to be chosen when reading."""
    hints = hints or Hints()
    _check_hints(source, hints)
    sample = _sample(source)
    time = hints.time or _find_time(sample)
    long = None if hints.channels else _find_long(sample, time, hints)
    if long is not None:
        return long
    channels, shares = _find_channels(sample, hints)
    budget = _find_budget(sample, channels) if shares else None
    unit = hints.unit or _find_unit(sample, time, channels)
    propensity = next((name for name in sample.numbers if "propensity" in names.words(name)), None)
    return Schema(
        unit=unit,
        time=time,
        outcome=hints.outcome or _find_outcome(sample, {time, unit, budget, propensity, *channels}),
        channels=channels,
        budget=budget,
        propensity=propensity,
        currency=_find_currency(sample, unit),
    )


def _check_hints(source: Source, hints: Hints) -> None:
    for name in (hints.unit, hints.time, hints.outcome, *hints.channels):
        if name is not None and name not in source.columns.names:
            raise LogError(
                f"Expected a column {name!r}, but the log has none.{nearest(name, source.columns.names)}"
            )


def _sample(source: Source) -> Sample:
    listed = source.columns.names
    table = _first_rows(source, listed)
    numbers: dict[str, Floats] = {}
    times: dict[str, NDArray[np.int64]] = {}
    texts: list[str] = []
    wholes: list[str] = []
    for name in listed:
        column = table[name].combine_chunks()
        kind = _kind(column, name, source.text)
        if kind == "number":
            numbers[name] = columns.to_numbers(column, name, allow_text=source.text).values
            wholes += (
                [name] if pa.types.is_integer(column.type) or _all_whole(numbers[name]) else []
            )
        elif kind == "time":
            times[name] = columns.to_times(column, name)[0].values
        elif kind == "text":
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


def _kind(column: pa.Array, name: str, text_source: bool) -> str | None:
    """`number`, `time` or `text`, by most of the values where all are text."""
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "time"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if not columns.is_text(kind):
        return None
    text = columns.decoded(column, name)
    parsed = columns.to_times(text, name)[0]
    given = int((parsed.values != columns.NO_TIME).sum() + parsed.bad.sum())
    if given and parsed.bad.sum() <= (1 - MOSTLY) * given:
        return "time"
    numbers = columns.to_numbers(text, name, allow_text=True)
    given = int(np.isfinite(numbers.values).sum() + numbers.bad.sum())
    padded = pc.any(pc.match_substring_regex(text, r"^\s*[+-]?0\d")).as_py()
    is_number = (
        text_source and given > 0 and not padded and numbers.bad.sum() <= (1 - MOSTLY) * given
    )
    return "number" if is_number else "text"


def _all_whole(values: Floats) -> bool:
    given = values[np.isfinite(values)]
    return bool(len(given) and np.all(given == np.rint(given)))


def _find_time(sample: Sample) -> str:
    if not sample.times:
        raise LogError(
            "Expected a column of dates (YYYY-MM-DD), but none of the columns holds them: "
            f"{', '.join(sample.table.column_names[:20])}. Convert the date column; if all rows are of one day, add a "
            "column with its date."
        )
    return min(sample.times, key=lambda name: names.rank(name, names.TIME))


def _find_long(sample: Sample, time: str, hints: Hints) -> Schema | None:
    """One row per unit, date and channel: one spend column, and a text column that makes rows unique with the unit."""
    spends = [
        name
        for name, values in sample.numbers.items()
        if names.looks_spent(name) and _is_amount(values)
    ]
    kinds = [
        name for name in sample.texts if names.rank(name, names.CHANNEL) < 2 * len(names.CHANNEL)
    ]
    if len(spends) != 1 or not kinds:
        return None
    channel = min(kinds, key=lambda name: names.rank(name, names.CHANNEL))
    found = (
        pc.unique(columns.decoded(sample.table[channel].combine_chunks())).drop_null().to_pylist()
    )
    able = [
        name
        for name in _ids(sample, (spends[0], channel))
        if _unique_part(sample, [name, time, channel]) >= NEARLY_UNIQUE
    ]
    able = (
        [hints.unit]
        if hints.unit
        else [name for name in able if _unique_part(sample, [name, time]) < NEARLY_UNIQUE]
    )
    if not able or len(found) < 2:
        return None
    unit = min(able, key=lambda name: names.rank(name, names.UNIT))
    return Schema(
        unit=unit,
        time=time,
        outcome=hints.outcome or _find_outcome(sample, {time, unit, channel, spends[0]}),
        channels=tuple(sorted(found)),
        channel_column=channel,
        spend_column=spends[0],
        currency=_find_currency(sample, unit),
    )


def _find_channels(sample: Sample, hints: Hints) -> tuple[tuple[str, ...], bool]:
    """The channel columns and whether they are shares: by name first, then by what sums to 1 or to the budget."""
    amounts = {
        name: v
        for name, v in sample.numbers.items()
        if _is_amount(v) and not names.looks_earlier(name)
    }
    if hints.channels:
        given = [sample.numbers[name] for name in hints.channels if name in sample.numbers]
        return hints.channels, bool(given) and _whole_of(given) == 1.0
    named = [
        name for name in sample.table.column_names if name in amounts and names.looks_spent(name)
    ]
    unread = [
        name for name in sample.texts if names.looks_spent(name) and _has_digits(sample, name)
    ]  # $1,234.50
    if len(named) + len(unread) >= 2:
        return (*named, *unread), _whole_of([amounts[name] for name in named]) is not None
    shares = [name for name in amounts if set(names.words(name)) & set(names.SHARE)]
    if len(shares) >= 2 and _whole_of([amounts[name] for name in shares]) is not None:
        return tuple(shares), True
    for whole in WHOLES:
        small = {
            name: values
            for name, values in amounts.items()
            if np.nanquantile(values, MOSTLY) <= whole * (1 + 1e-6)
        }
        found = _summands(small, np.full(sample.table.num_rows, whole))
        if found:
            return found, True
    for name in sorted(amounts, key=lambda name: names.rank(name, names.BUDGET)):
        if names.rank(name, names.BUDGET) < 2 * len(names.BUDGET):
            found = _summands(
                {other: v for other, v in amounts.items() if other != name}, amounts[name]
            )
            if found:
                return found, False
    raise LogError(
        "Expected two or more channel columns (named like `ads_spend` or `share_ads`, or summing to 1 or to a budget), but "
        f"found none among the numbers: {', '.join(list(sample.numbers)[:20]) or 'there are none'}. Name them: realloc init "
        "… --channels ads,coupon (one row per channel: `channel_column` and `spend_column` in the schema)."
    )


def _is_amount(values: Floats) -> bool:
    """Mostly finite numbers of at least 0, not all 0."""
    given = values[~np.isnan(values)]
    return bool(
        len(given) and np.mean(np.isfinite(given) & (given >= 0)) >= MOSTLY and np.any(given > 0)
    )


def _has_digits(sample: Sample, name: str) -> bool:
    text = columns.decoded(sample.table[name].combine_chunks(), name)
    return bool(
        np.mean(
            pc.fill_null(pc.match_substring_regex(text, r"\d"), False).to_numpy(
                zero_copy_only=False
            )
        )
        >= 0.5
    )


def _whole_of(values: list[Floats]) -> float | None:
    """1, 100 or 10,000 where most rows sum to about that."""
    total = np.nansum(values, axis=0)
    return next(
        (whole for whole in WHOLES if np.mean(np.abs(total / whole - 1) < 0.02) > MOSTLY), None
    )


def _summands(candidates: dict[str, Floats], total: Floats) -> tuple[str, ...]:
    """The columns that add up to `total` with weight 1 each (non-negative least squares, worst rows aside), or nothing."""
    if len(candidates) < 2:
        return ()
    from scipy.optimize import nnls

    listed = list(candidates)
    stride = -(-len(total) // FIT_ROWS)
    matrix = np.nan_to_num(
        np.stack([candidates[name][::stride] for name in listed], axis=1), posinf=0.0
    )
    goal = np.nan_to_num(total[::stride], posinf=0.0)
    scale = max(float(np.quantile(np.abs(goal), MOSTLY)), 1e-12)
    matrix, goal = matrix / scale, goal / scale
    for _ in range(2):
        weights, _ = nnls(matrix, goal)
        off = np.abs(matrix @ weights - goal)
        kept = off <= max(float(np.quantile(off, MOSTLY)), 1e-9)
        matrix, goal = matrix[kept], goal[kept]
    weights, residual = nnls(matrix, goal)
    near_one = np.abs(weights - 1) < 0.01
    exact = residual < 0.005 * np.sqrt(len(goal)) and np.all(near_one | (weights < 0.01))
    return (
        tuple(name for name, used in zip(listed, near_one, strict=True) if used)
        if exact and near_one.sum() >= 2
        else ()
    )


def _find_budget(sample: Sample, channels: tuple[str, ...]) -> str | None:
    able = [
        name
        for name, values in sample.numbers.items()
        if _is_amount(values) and name not in channels
    ]
    named = [
        n
        for n in able
        if names.rank(n, names.BUDGET) < 2 * len(names.BUDGET) and not names.looks_earlier(n)
    ]
    return min(named, key=lambda name: names.rank(name, names.BUDGET)) if named else None


def _ids(sample: Sample, taken: tuple[str, ...]) -> list[str]:
    """Columns that may be ids: text, and whole numbers named like one."""
    named = [name for name in sample.wholes if names.rank(name, names.UNIT) < 2 * len(names.UNIT)]
    return [name for name in (*sample.texts, *named) if name not in taken]


def _find_unit(sample: Sample, time: str, channels: tuple[str, ...]) -> str:
    """An id that has at most one row per date, named like one if possible; a repeated row or two are the check's business."""
    able = _ids(sample, channels)
    parts = {name: _unique_part(sample, [name, time]) for name in able}
    fitting = [name for name in able if parts[name] >= NEARLY_UNIQUE]
    if not fitting:  # the whole log may be repeated; then the name must say it
        fitting = [
            name
            for name in able
            if parts[name] >= 0.4 and names.rank(name, names.UNIT) < 2 * len(names.UNIT)
        ]
    if not fitting:
        raise LogError(
            f"Expected a column of ids with at most one row per {time!r}, but none fits "
            f"({', '.join(able[:10]) or 'there is no text or id column'}). Name it: realloc init … --unit item_id. A log with "
            "one row per channel needs `channel_column` and `spend_column` in the schema."
        )
    return min(
        fitting, key=lambda name: (names.rank(name, names.UNIT), -parts[name], able.index(name))
    )


def _unique_part(sample: Sample, keys: Sequence[str]) -> float:
    """How many different keys there are, as a part of the rows; 0 where a key is mostly missing."""
    codes: list[NDArray[np.int64]] = []
    for name in keys:
        if name in sample.times:
            codes.append(sample.times[name])
        else:
            plain = columns.decoded(sample.table[name].combine_chunks())
            codes.append(columns.Vocabulary().encode(plain).astype(np.int64))
    if np.mean(codes[0] >= 0) < MOSTLY:
        return 0.0
    return len(np.unique(np.stack(codes, axis=1), axis=0)) / len(codes[0])


def _find_currency(sample: Sample, unit: str) -> str | None:
    named = [name for name in sample.texts if names.looks_currency(name) and name != unit]
    return named[0] if len(named) == 1 else None


def _find_outcome(sample: Sample, taken: set[str | None]) -> str:
    able = [name for name in sample.numbers if name not in taken and not names.looks_earlier(name)]
    named = [name for name in able if names.rank(name, names.OUTCOME) < 2 * len(names.OUTCOME)]
    if not named:
        raise LogError(
            "Expected an outcome column (named like orders, purchases, conversions, sales, revenue or outcome), but found none "
            f"among {', '.join(able[:20]) or 'the numbers'}. Name it: realloc init … --outcome bookings."
        )
    return min(named, key=lambda name: _outcome_rank(name, named))


def _outcome_rank(name: str, order: list[str]) -> tuple[int, bool, int, int]:
    parts = names.words(name)
    return (
        names.rank(name, names.OUTCOME),
        not set(parts) & names.TOTAL,
        len(parts),
        order.index(name),
    )
