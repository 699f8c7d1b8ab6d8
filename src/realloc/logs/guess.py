"""A first schema from the data alone: every column's part by its name, type and arithmetic.

A guess tolerates a few bad cells, so that the check can report them: a channel with one negative
spend is a channel.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Integers, Mask
from realloc.base.validation import nearest
from realloc.logs import names
from realloc.logs.reading import columns
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.source import Source
from realloc.logs.schema import Schema

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
class GuessSample:
    """The first rows of a source, by what kind of values each column holds."""

    table: pa.Table
    numbers: dict[str, Floats]
    texts: list[str]
    wholes: list[str]  # numbers that are whole, so may be ids
    times: dict[str, Integers]

    @cached_property
    def amounts(self) -> dict[str, Floats]:
        """Numbers that are mostly finite and at least 0, and not all 0."""
        amounts: dict[str, Floats] = {}
        for name, values in self.numbers.items():
            given = values[~np.isnan(values)]
            usable = np.isfinite(given) & (given >= 0)
            if np.any(given > 0) and usable.mean() >= MOSTLY:
                amounts[name] = values
        return amounts

    def column(self, name: str) -> pa.Array:
        """A column without dictionary."""
        return columns.decoded(self.table[name].combine_chunks(), name)


def guess_schema(source: Source, hints: Hints | None = None) -> Schema:
    """The most plausible schema; raise with what was not found. Reading chooses the features."""
    hints = hints or Hints()
    for name in (hints.unit, hints.time, hints.outcome, *hints.channels):
        if name is not None and name not in source.columns.names:
            raise LogError(
                f"Expected a column {name!r}, but the log has none."
                f"{nearest(name, source.columns.names)}"
            )
    sample = _sample(source)
    time = hints.time or _find_time(sample)
    long = None if hints.channels else _find_long(sample, time, hints)
    if long is not None:
        return long
    channels, shares = _find_channels(sample, hints)
    budgets = names.mentioning(sample.amounts, names.BUDGET)
    budgets = [
        name for name in budgets if name not in channels and not names.looks_earlier(name)
    ]
    budget = budgets[0] if shares and budgets else None
    unit = hints.unit or _find_unit(sample, time, channels)
    propensity = next(
        (name for name in sample.numbers if "propensity" in names.words(name)), None
    )
    taken = {time, unit, budget, propensity, *channels}
    return Schema(
        unit=unit,
        time=time,
        outcome=hints.outcome or _find_outcome(sample, taken),
        channels=channels,
        budget=budget,
        propensity=propensity,
        currency=_find_currency(sample, unit),
    )


def _sample(source: Source) -> GuessSample:
    batches: list[pa.RecordBatch] = []
    rows = 0
    for piece in source.pieces(source.columns.names):
        batches.append(piece.batch)
        rows += piece.batch.num_rows
        if rows >= SAMPLE_ROWS:
            break
    if not rows:
        raise LogError("Expected rows to find a schema from, but the log is empty.")
    sample = GuessSample(pa.Table.from_batches(batches), {}, [], [], {})
    for name in source.columns.names:
        column = sample.table[name].combine_chunks()
        kind = _kind(column, name, source.text)
        if kind == "number":
            values = columns.to_numbers(column, name, allow_text=source.text).values
            sample.numbers[name] = values
            given = values[np.isfinite(values)]
            whole = len(given) > 0 and np.all(given == np.rint(given))
            if whole or pa.types.is_integer(column.type):
                sample.wholes.append(name)
        elif kind == "time":
            sample.times[name] = columns.to_times(column, name).values
        elif kind == "text":
            sample.texts.append(name)
    return sample


def _kind(column: pa.Array, name: str, text_source: bool) -> str | None:
    """`number`, `time` or `text`, by most of the values where all are text."""
    if columns.is_time(column.type):
        return "time"
    if columns.is_number(column.type):
        return "number"
    if not columns.is_text(column.type):
        return None
    text = columns.decoded(column, name)
    times = columns.to_times(text, name)
    if _mostly_good(times, times.values != columns.NO_TIME):
        return "time"
    numbers = columns.to_numbers(text, name, allow_text=True)
    padded = pc.any(pc.match_substring_regex(text, r"^\s*[+-]?0\d")).as_py()
    good = text_source and not padded and _mostly_good(numbers, np.isfinite(numbers.values))
    return "number" if good else "text"


def _mostly_good(parsed: columns.Parsed, good: Mask) -> bool:
    bad = int(parsed.bad.sum())
    given = int(good.sum()) + bad
    return given > 0 and bad <= (1 - MOSTLY) * given


def _find_time(sample: GuessSample) -> str:
    if not sample.times:
        raise LogError(
            "Expected a column of dates (YYYY-MM-DD), but none of the columns holds them: "
            f"{', '.join(sample.table.column_names[:20])}. Convert the date column; if all rows "
            "are of one day, add a column with its date."
        )
    return min(sample.times, key=lambda name: names.rank(name, names.TIME))


def _find_long(sample: GuessSample, time: str, hints: Hints) -> Schema | None:
    """The long layout: one spend column, and a text column that makes a unit's rows unique."""
    spends = [name for name in sample.amounts if names.looks_spent(name)]
    kinds = names.mentioning(sample.texts, names.CHANNEL)
    if len(spends) != 1 or not kinds:
        return None
    channel = kinds[0]
    channels: list[str] = pc.unique(sample.column(channel)).drop_null().to_pylist()
    units = [hints.unit] if hints.unit else []
    for name in _ids(sample, (spends[0], channel)) if not hints.unit else ():
        whole_key = _unique_part(sample, [name, time, channel])
        if whole_key >= NEARLY_UNIQUE > _unique_part(sample, [name, time]):
            units.append(name)
    if not units or len(channels) < 2:
        return None
    unit = min(units, key=lambda name: names.rank(name, names.UNIT))
    return Schema(
        unit=unit,
        time=time,
        outcome=hints.outcome or _find_outcome(sample, {time, unit, channel, spends[0]}),
        channels=tuple(sorted(channels)),
        channel_column=channel,
        spend_column=spends[0],
        currency=_find_currency(sample, unit),
    )


def _find_channels(sample: GuessSample, hints: Hints) -> tuple[tuple[str, ...], bool]:
    """The channels and whether they are shares: by name, else by what sums to 1 or a budget."""
    if hints.channels:
        given = [sample.numbers[name] for name in hints.channels if name in sample.numbers]
        return hints.channels, bool(given) and _whole_of(given) == 1.0
    amounts = {
        name: values
        for name, values in sample.amounts.items()
        if not names.looks_earlier(name)
    }
    spends = [name for name in amounts if names.looks_spent(name)]
    # Written with signs, such as $1,234.50: the check says how to write them.
    unread = [name for name in sample.texts if names.looks_spent(name)]
    unread = [name for name in unread if _has_digits(sample.column(name))]
    if len(spends) + len(unread) >= 2:
        whole = _whole_of([amounts[name] for name in spends])
        return (*spends, *unread), whole is not None
    shares = [name for name in amounts if not names.SHARE.isdisjoint(names.words(name))]
    if len(shares) >= 2 and _whole_of([amounts[name] for name in shares]) is not None:
        return tuple(shares), True
    for whole in WHOLES:
        limit = whole * (1 + 1e-6)
        small = {n: v for n, v in amounts.items() if np.nanquantile(v, MOSTLY) <= limit}
        found = _summands(small, np.full(sample.table.num_rows, whole))
        if found:
            return found, True
    for budget in names.mentioning(amounts, names.BUDGET):
        others = {name: values for name, values in amounts.items() if name != budget}
        found = _summands(others, amounts[budget])
        if found:
            return found, False
    raise LogError(
        "Expected two or more channel columns (named like `ads_spend` or `share_ads`, or summing "
        "to 1 or to a budget), but found none among the numbers: "
        f"{', '.join(list(sample.numbers)[:20]) or 'there are none'}. Name them: realloc init … "
        "--channels ads,coupon (one row per channel: `channel_column` and `spend_column` in the "
        "schema)."
    )


def _has_digits(text: pa.Array) -> bool:
    digits = pc.fill_null(pc.match_substring_regex(text, r"\d"), False)
    return bool(np.asarray(digits).mean() >= 0.5)


def _whole_of(values: list[Floats]) -> float | None:
    """1, 100 or 10,000 where most rows sum to about that."""
    total = np.nansum(values, axis=0)
    for whole in WHOLES:
        if np.mean(np.abs(total / whole - 1) < 0.02) > MOSTLY:
            return whole
    return None


def _summands(candidates: dict[str, Floats], total: Floats) -> tuple[str, ...]:
    """The columns that add up to `total`, or none.

    Non-negative least squares, twice without the worst rows; summands have a weight of 1.
    """
    from scipy.optimize import nnls

    if len(candidates) < 2:
        return ()
    stride = -(-len(total) // FIT_ROWS)
    sampled = [values[::stride] for values in candidates.values()]
    matrix = np.nan_to_num(np.stack(sampled, axis=1), posinf=0.0)
    goal = np.nan_to_num(total[::stride], posinf=0.0)
    scale = max(float(np.quantile(np.abs(goal), MOSTLY)), 1e-12)
    matrix /= scale
    goal /= scale
    for _ in range(2):
        off = np.abs(matrix @ nnls(matrix, goal)[0] - goal)
        kept = off <= max(float(np.quantile(off, MOSTLY)), 1e-9)
        matrix = matrix[kept]
        goal = goal[kept]
    weights, residual = nnls(matrix, goal)
    near_one = np.abs(weights - 1) < 0.01
    clear = np.all(near_one | (weights < 0.01))
    if not clear or residual >= 0.005 * np.sqrt(len(goal)) or near_one.sum() < 2:
        return ()
    return tuple(name for name, used in zip(candidates, near_one, strict=True) if used)


def _ids(sample: GuessSample, taken: tuple[str, ...]) -> list[str]:
    """Columns that may be ids: text, and whole numbers named like one."""
    named = set(names.mentioning(sample.wholes, names.UNIT))
    listed = [*sample.texts, *(name for name in sample.wholes if name in named)]
    return [name for name in listed if name not in taken]


def _find_unit(sample: GuessSample, time: str, channels: tuple[str, ...]) -> str:
    """An id that has at most one row per date, but for a few copies, named like one if possible."""
    able = _ids(sample, channels)
    parts = {name: _unique_part(sample, [name, time]) for name in able}
    fitting = [name for name in able if parts[name] >= NEARLY_UNIQUE]
    if not fitting:  # the whole log may be repeated; then the name must say it
        fitting = [
            name for name in names.mentioning(able, names.UNIT) if parts[name] >= 0.4
        ]
    if not fitting:
        raise LogError(
            f"Expected a column of ids with at most one row per {time!r}, but none fits "
            f"({', '.join(able[:10]) or 'there is no text or id column'}). Name it: realloc init … "
            "--unit item_id. A log with one row per channel needs `channel_column` and "
            "`spend_column` in the schema."
        )
    return min(
        fitting,
        key=lambda name: (names.rank(name, names.UNIT), -parts[name], able.index(name)),
    )


def _unique_part(sample: GuessSample, keys: Iterable[str]) -> float:
    """How many different keys there are, as a part of the rows; 0 if the first is often missing."""
    codes: list[Integers] = []
    for name in keys:
        if name in sample.times:
            codes.append(sample.times[name])
        else:
            codes.append(columns.Vocabulary().encode(sample.column(name)).astype(np.int64))
    if np.mean(codes[0] >= 0) < MOSTLY:
        return 0.0
    distinct = np.unique(np.stack(codes, axis=1), axis=0)
    return len(distinct) / len(codes[0])


def _find_currency(sample: GuessSample, unit: str) -> str | None:
    named = [name for name in sample.texts if names.looks_currency(name) and name != unit]
    return named[0] if len(named) == 1 else None


def _find_outcome(sample: GuessSample, taken: set[str | None]) -> str:
    able = [
        name
        for name in sample.numbers
        if name not in taken and not names.looks_earlier(name)
    ]
    named = names.mentioning(able, names.OUTCOME)
    if not named:
        raise LogError(
            "Expected an outcome column (named like orders, purchases, conversions, sales, revenue "
            f"or outcome), but found none among {', '.join(able[:20]) or 'the numbers'}. Name it: "
            "realloc init … --outcome bookings."
        )

    def preference(name: str) -> tuple[int, bool, int]:
        parts = names.words(name)
        return names.rank(name, names.OUTCOME), names.TOTAL.isdisjoint(parts), len(parts)

    return min(named, key=preference)
