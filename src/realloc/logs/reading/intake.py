"""Taking a log in, piece by piece: convert, check every row, keep usable ones in compact form."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.numbers import written
from realloc.base.simplex import Floats, Integers, Mask
from realloc.logs.checks.rules import RULES, First, RuleTally
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.columns import (
    DAY_MICROS,
    MOST_CATEGORIES,
    NO_TIME,
    Parsed,
    Vocabulary,
    decoded,
    is_text,
    to_numbers,
    to_times,
)
from realloc.logs.reading.numerals import looks_like
from realloc.logs.reading.options import ReadOptions
from realloc.logs.reading.plan import ReadingPlan
from realloc.logs.reading.source import Piece

LARGEST_AMOUNT = 9e13  # 2^53 cents
ANCIENT = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp() * 1e6)
LARGEST_NUMBER = 1e30  # squares and sums of such numbers still fit
# No column of a log has such a name.
POSITION = "\0position"  # row numbers in the source
WRONG = "\0wrong"  # rows of the long layout to leave out, with all of their unit and date


@dataclass
class CompactRows:
    """Rows being read: unit codes, microseconds, and named columns (float64, float32 or codes)."""

    units: NDArray[np.int32]
    times: Integers
    columns: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.units)

    def take(self, rows: NDArray[Any]) -> "CompactRows":
        """The rows at a mask or positions."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return CompactRows(self.units[rows], self.times[rows], columns)

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """All columns, the keys first."""
        return [self.units, self.times, *self.columns.values()]

    def resize(self, size: int) -> None:
        """Cut or extend every column in place."""
        for array in self.arrays:
            array.resize(size, refcheck=False)


@dataclass
class RowPile:
    """Rows one after the other, in arrays that grow in place, so that nothing is held twice."""

    expected: int | None = None  # rows in all, where that is known beforehand
    rows: CompactRows | None = None
    count: int = 0

    def append(self, more: CompactRows) -> None:
        """Copy rows to the end; where they are all there is, nothing is copied."""
        end = self.count + len(more)
        if self.rows is None and len(more) == self.expected:
            self.rows = more
            self.count = end
            return
        if self.rows is None:
            self.rows = more.take(np.empty(0, np.int64))
            self.rows.resize(self.expected or end)
        if end > len(self.rows):
            self.rows.resize(max(end, len(self.rows) * 5 // 4))
        for array, values in zip(self.rows.arrays, more.arrays, strict=True):
            array[self.count : end] = values
        self.count = end

    def take_all(self) -> CompactRows:
        """All rows."""
        if self.rows is None:
            return CompactRows(np.empty(0, np.int32), np.empty(0, np.int64), {})
        if self.count < len(self.rows):
            self.rows.resize(self.count)
        return self.rows


@dataclass
class Intake:
    """Everything that accumulates while a log streams by."""

    plan: ReadingPlan
    today: date
    text: bool  # the source is a CSV: numbers come as text
    # Rows to decide on: a bad row is left out instead of stopping all others.
    forgive: bool = False
    tally: RuleTally = field(default_factory=RuleTally)
    unit_words: Vocabulary = field(default_factory=lambda: Vocabulary(blanks=False))
    words: defaultdict[str, Vocabulary] = field(
        default_factory=lambda: defaultdict(lambda: Vocabulary(MOST_CATEGORIES))
    )
    usable: RowPile = field(default_factory=RowPile)
    aside: RowPile = field(default_factory=RowPile)  # only keys of rows that were set aside
    seen: int = 0
    empty_cells: Counter[str] = field(
        default_factory=Counter
    )  # by channel column: not used
    zero_cells: Counter[str] = field(default_factory=Counter)
    zoned: bool = False
    naive: bool = False

    def take(self, piece: Piece) -> None:
        """Convert and check one piece; keep its usable rows."""
        batch = piece.batch
        schema = self.plan.schema
        units = self._encode_units(batch.column(schema.unit))
        form = schema.read.date_format
        times = to_times(batch.column(schema.time), schema.time, form)
        self.zoned |= times.zoned
        self.naive |= times.naive
        flags = RowFlags(self, piece, units, times.values)
        self._check_keys(flags, times)
        columns: dict[str, NDArray[Any]] = {}
        for name in self.plan.numbers:
            columns[name] = self._number(flags, batch.column(name), name)
        for name in self.plan.categories:
            columns[name] = self.words[name].encode(_as_text(batch.column(name), name))
        for name, kind in self.plan.features.items():
            if kind != "category":
                columns[name] = self._feature(flags, batch.column(name), name, kind)
        if self.plan.long:
            columns[WRONG] = ~flags.right
        elif self.forgive:
            columns[POSITION] = np.arange(self.seen, self.seen + batch.num_rows)
        self.seen += batch.num_rows
        rows = CompactRows(units, times.values, columns)
        self.usable.append(rows if self.plan.long else check_split(flags, rows))

    def _encode_units(self, column: pa.Array) -> NDArray[np.int32]:
        name = self.plan.schema.unit
        column = decoded(column, name)
        if pa.types.is_integer(column.type):
            try:
                column = column.cast(pa.int64())
            except pa.ArrowInvalid as problem:
                raise LogError(
                    f"Expected ids below 2^63 in column {name!r}, got a larger one. "
                    "Write ids as text."
                ) from problem
        elif pa.types.is_null(column.type):
            column = column.cast(pa.string())
        elif not is_text(column.type):
            raise LogError(
                f"Expected ids that are text or whole numbers in column {name!r}, "
                f"got the type {column.type}."
            )
        return self.unit_words.encode(column)

    def _check_keys(self, flags: "RowFlags", times: Parsed) -> None:
        schema = self.plan.schema
        micros = times.values
        known = micros != NO_TIME
        tomorrow = ((self.today - date(1970, 1, 1)).days + 1) * DAY_MICROS
        flags.flag("missing_unit", flags.units < 0, schema.unit)
        flags.flag("bad_time", times.bad, schema.time, times)
        flags.flag("missing_time", ~known & ~times.bad, schema.time)
        flags.flag("future_time", known & (micros >= tomorrow), schema.time, micros)
        flags.flag("ancient_time", known & (micros < ANCIENT), schema.time, micros)

    def _number(self, flags: "RowFlags", column: pa.Array, name: str) -> Floats:
        schema = self.plan.schema
        spend = name == schema.spend_column or name in schema.channels
        money = spend or name == schema.budget
        parsed = to_numbers(column, name, self.text, allow_bool=not money, read=schema.read)
        values = parsed.values + 0.0  # a copy, with −0.0 made 0.0
        _check_numbers(flags, parsed, values, name)
        if money and not _within(values, LARGEST_AMOUNT, 0.0):
            large = np.isfinite(values) & (np.abs(values) > LARGEST_AMOUNT)
            flags.flag("negative", values < 0, name, values)
            flags.flag("too_large", large, name, values)
        if name == schema.propensity:
            flags.flag("not_positive", values <= 0, name, values)
        if spend:
            counted = ~_dropped(flags)
            empty = np.isnan(values) & ~parsed.bad
            self.empty_cells[name] += int((empty & counted).sum())
            self.zero_cells[name] += int(((values == 0) & counted).sum())
            values[empty] = 0.0
        return values

    def _feature(
        self, flags: "RowFlags", column: pa.Array, name: str, kind: str
    ) -> NDArray[Any]:
        if kind == "time":
            parsed = to_times(column, name, self.plan.schema.read.date_format)
            flags.flag("bad_time", parsed.bad, name, parsed)
            return parsed.values
        if kind == "bool" and self.text:
            lower = pc.utf8_lower(pc.utf8_trim_whitespace(column))
            known = pc.is_in(lower, value_set=pa.array(["true", "false"]))
            column = pc.if_else(known, pc.equal(lower, "true"), None)
        parsed = to_numbers(column, name, self.text, read=self.plan.schema.read)
        _check_numbers(flags, parsed, parsed.values, name)
        with np.errstate(over="ignore"):
            return parsed.values.astype(np.float32)


@dataclass(frozen=True)
class RowFlags:
    """Counts rows of one piece against the rules, and says who and where the first one is."""

    intake: Intake
    piece: Piece | None
    units: NDArray[np.int32]
    times: Integers
    wrong: list[Mask] = field(default_factory=list)  # rows that no more is said about

    @property
    def right(self) -> Mask:
        """Rows without an error so far."""
        return ~np.any(self.wrong, axis=0) if self.wrong else np.ones(len(self.units), bool)

    def flag(
        self,
        code: str,
        mask: Mask,
        column: str | None,
        values: Parsed | NDArray[Any] | str = "",
        detail: str = "",
    ) -> None:
        """Count the rows of `mask` against a rule, quoting the first one's value."""
        count = int(np.count_nonzero(mask))
        if not count:
            return
        if RULES[code].level == "error":
            self.wrong.append(mask)
        row = int(np.argmax(mask))
        if isinstance(values, Parsed):
            values = values.quote(row)
        elif not isinstance(values, str):
            values = say(values[row])
        first = First(
            self.piece.where(row) if self.piece else "",
            self.intake.unit_words.word(int(self.units[row])),
            say(self.times[row]) if self.times[row] != NO_TIME else None,
            values,
            detail,
        )
        self.intake.tally.add(code, column, count, first)


def _check_numbers(flags: RowFlags, parsed: Parsed, values: Floats, column: str) -> None:
    """Flag what is no number, infinite, or so large that nobody means it."""
    hint = _hint(parsed, column, flags.intake.plan.schema.read)
    flags.flag("not_a_number", parsed.bad, column, parsed, hint)
    if not _within(values, LARGEST_NUMBER, -LARGEST_NUMBER):
        infinite = np.isinf(values)
        flags.flag("infinite", infinite, column, values)
        flags.flag("absurd", ~infinite & (np.abs(values) > LARGEST_NUMBER), column, values)


def _hint(parsed: Parsed, column: str, read: ReadOptions) -> str:
    """How to read the first cell that is no number."""
    if not parsed.bad.any() or parsed.texts is None:
        return ""
    first = parsed.texts.slice(int(np.argmax(parsed.bad)), 1)
    keys = looks_like(str(first[0].as_py()))
    if not keys and to_numbers(first, column, allow_text=True).bad.all():
        return "Leave the cell empty where there is no value."
    if not keys:
        return f"[read] says {read.to_toml()}, but this cell is plain. Write all cells in one way."
    already = f" ([read] says {read.to_toml()})" if read.changed else ""
    return (
        f"It looks like {keys}{already}: put that into [read] of the config (`realloc init` "
        f"proposes it), or read=realloc.ReadOptions({keys.replace(' = ', '=')}) in Python."
    )


def _within(values: Floats, largest: float, smallest: float) -> bool:
    """Whether all values are, as usual; a missing one is not."""
    return bool(len(values)) and bool(values.min() >= smallest and values.max() <= largest)


def check_split(flags: RowFlags, rows: CompactRows) -> CompactRows:
    """Check each row's split and that its outcome is there; drop rows that carry nothing."""
    plan = flags.intake.plan
    schema = plan.schema
    dropped = _dropped(flags)
    keep = ~dropped
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.sum([rows.columns[name] for name in schema.channels], axis=0)
    if schema.budget is None:
        flags.flag("zero_budget", keep & (total == 0), None)
        keep &= total != 0
    else:
        budget = rows.columns[schema.budget]
        missing = np.isnan(budget)
        flags.flag("missing_budget", keep & missing, schema.budget)
        flags.flag("zero_budget", keep & (budget == 0), schema.budget)
        keep &= (budget != 0) & ~missing
        wrong = keep & ~sums_to_one(total, len(schema.channels))
        if wrong.any():
            advice = _explain_sum(total[wrong], budget[wrong])
            flags.flag("shares_sum", wrong, None, total, advice)
    if plan.has_outcome:
        outcome = rows.columns[schema.outcome]
        for name in (schema.outcome, *schema.guardrails):
            missing = np.isnan(rows.columns[name])
            code = "missing_outcome" if name == schema.outcome else "missing_guardrail"
            flags.flag(code, keep & missing, name)
            keep &= ~missing
        flags.flag("negative_outcome", keep & (outcome < 0), schema.outcome)
    keep &= flags.right
    if keep.all():
        return rows
    aside = ~keep & ~dropped
    flags.intake.aside.append(CompactRows(rows.units[aside], rows.times[aside], {}))
    return rows.take(keep)


def sums_to_one(total: Floats, channels: int) -> Mask:
    """Whether shares that total so much (n,) may be float32 shares of a whole."""
    return ~(np.abs(total - 1) > 1e-6 + 2e-7 * channels)  # one that is missing is no error


def _dropped(flags: RowFlags) -> Mask:
    words = flags.intake.unit_words.values
    listed = flags.intake.plan.schema.drop_units
    if not listed or words is None:
        return np.zeros(len(flags.units), dtype=bool)
    named = pc.is_in(words.cast(pa.string()), value_set=pa.array(listed))
    return np.append(np.asarray(named), False)[flags.units]


def _explain_sum(total: Floats, budget: Floats) -> str:
    """What shares that do not sum to 1 look like."""
    looks = {
        "They look like percent: divide the channel columns by 100.": np.abs(total - 100)
        < 1,
        "They look like basis points: divide the channel columns by 10,000.": (
            np.abs(total - 10_000) < 100
        ),
        "They look like amounts of the budget column: leave out `budget=`.": (
            np.abs(total - budget) <= 1e-6 * np.abs(budget) + 0.01
        ),
        "They look rounded: divide each row's channels by their sum before reading.": (
            np.abs(total - 1) < 0.02
        ),
    }
    for advice, rows in looks.items():
        if rows.mean() > 0.5:
            return advice
    return "If these columns are amounts, leave out `budget=`; otherwise correct or drop the rows."


def say(value: Any) -> str:
    """A number or a moment (int64 microseconds) for a message."""
    if np.asarray(value).dtype == np.int64:
        moment = np.datetime64(int(value), "us").astype("datetime64[s]")
        return str(moment).removesuffix("T00:00:00")
    return written(float(value))


def _as_text(column: pa.Array, name: str) -> pa.Array:
    """A categorical column as text, blanks as missing."""
    try:
        text = decoded(column, name).cast(pa.string())
    except pa.ArrowException as problem:
        raise LogError(
            f"Expected text or numbers in the category {name!r}, got the type {column.type}."
        ) from problem
    return pc.if_else(pc.equal(text, ""), None, text)
