"""Taking a log in, piece by piece: convert, check every row, keep what is usable in compact columns."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.logs.checks.rules import RULES, First, Mask, Tally
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
from realloc.logs.reading.plan import Plan
from realloc.logs.reading.source import BATCH_ROWS, Piece

LARGEST_AMOUNT = 9e13  # 2^53 cents
ANCIENT = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp() * 1e6)
LARGEST_NUMBER = 1e30  # squares and sums of such numbers still fit
POSITION = ""  # column of row numbers in the source; no column of a log has an empty name


@dataclass
class Rows:
    """Columns of rows under way: unit codes, microseconds, and named columns (float64, float32, int32 codes, bool)."""

    units: NDArray[np.int32]
    times: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.units)

    def take(self, rows: NDArray[Any]) -> "Rows":
        """The rows at a mask or positions."""
        return Rows(
            self.units[rows],
            self.times[rows],
            {name: values[rows] for name, values in self.columns.items()},
        )

    def resized(self, size: int) -> "Rows":
        """The first `size` rows, or the same rows with room for more; consumes this one, a column at a time."""
        columns = {name: _resized(self.columns.pop(name), size) for name in list(self.columns)}
        return Rows(_resized(self.units, size), _resized(self.times, size), columns)


@dataclass
class Pile:
    """Rows appended into arrays that are made once where the number of rows is known, so that nothing is held twice."""

    capacity: int
    rows: Rows | None = None
    count: int = 0

    def append(self, more: Rows) -> None:
        """Copy rows to the end."""
        if (
            self.rows is None and len(more) == self.capacity
        ):  # all there is, in one piece: nothing to copy
            self.rows, self.count = more, len(more)
            return
        if self.rows is None:
            self.rows = Rows(
                np.empty(self.capacity, np.int32),
                np.empty(self.capacity, np.int64),
                {
                    name: np.empty(self.capacity, values.dtype)
                    for name, values in more.columns.items()
                },
            )
        end = self.count + len(more)
        if end > self.capacity:
            self.capacity = max(end, 2 * self.capacity)
            self.rows = self.rows.resized(self.capacity)
        self.rows.units[self.count : end] = more.units
        self.rows.times[self.count : end] = more.times
        for name, values in more.columns.items():
            self.rows.columns[name][self.count : end] = values
        self.count = end

    def take_all(self) -> Rows:
        """All rows; the pile is empty afterwards."""
        rows, self.rows = self.rows, None
        if rows is None:
            return Rows(np.empty(0, np.int32), np.empty(0, np.int64), {})
        return rows if self.count == len(rows) else rows.resized(self.count)


@dataclass
class Intake:
    """Everything that accumulates while a log streams by."""

    plan: Plan
    today: date
    text: bool  # the source is a CSV: numbers come as text
    forgive: bool = False  # rows to decide on: a bad row is left out instead of stopping all others
    tally: Tally = field(default_factory=Tally)
    unit_words: Vocabulary = field(default_factory=Vocabulary)
    words: dict[str, Vocabulary] = field(default_factory=dict)
    aside: list[tuple[NDArray[np.int32], NDArray[np.int64]]] = field(
        default_factory=list
    )  # keys of rows set aside
    pile: Pile = field(default_factory=lambda: Pile(BATCH_ROWS))
    seen: int = 0
    missing_cells: dict[str, int] = field(
        default_factory=dict
    )  # channel cells left empty, that is, not used
    zero_cells: dict[str, int] = field(default_factory=dict)
    zoned: bool = False
    naive: bool = False

    def take(self, piece: Piece) -> None:
        """Convert and check one piece; keep its usable rows."""
        batch = piece.batch
        self.seen += batch.num_rows
        schema = self.plan.schema
        units = self._encode_units(batch.column(schema.unit))
        times, zoned, naive = to_times(batch.column(schema.time), schema.time)
        self.zoned, self.naive = self.zoned | zoned, self.naive | naive
        spot = Spot(self, piece, units, times.values)
        self._check_keys(spot, units, times)
        columns: dict[str, NDArray[Any]] = {
            name: self._number(spot, batch.column(name), name) for name in self.plan.numbers
        }
        for name in self.plan.categories:
            columns[name] = self.words.setdefault(name, Vocabulary(MOST_CATEGORIES)).encode(
                _as_text(batch.column(name), name)
            )
        for name, kind in self.plan.features.items():
            if kind != "category":
                columns[name] = self._feature(spot, batch.column(name), name, kind)
        if self.forgive:
            columns[POSITION] = np.arange(self.seen - batch.num_rows, self.seen)
        rows = Rows(units, times.values, columns)
        if not schema.long:
            rows = check_split(self, spot, rows)
        self.pile.append(rows)

    def _encode_units(self, column: pa.Array) -> NDArray[np.int32]:
        name, kind = self.plan.schema.unit, column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if is_text(kind):
            text = decoded(column, name)
            column = pc.if_else(
                pc.equal(pc.utf8_trim_whitespace(text), ""), pa.scalar(None, pa.string()), text
            )
        elif pa.types.is_integer(kind):
            column = self._whole_ids(column)
        elif pa.types.is_null(kind):
            column = column.cast(pa.string())
        else:
            raise LogError(
                f"Expected ids that are text or whole numbers in column {name!r}, got the type {kind}."
            )
        return self.unit_words.encode(column)

    def _whole_ids(self, column: pa.Array) -> pa.Array:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid as problem:
            name = self.plan.schema.unit
            raise LogError(
                f"Expected ids below 2^63 in column {name!r}, got a larger one. Write ids as text."
            ) from problem

    def _check_keys(self, spot: "Spot", units: NDArray[np.int32], times: Parsed) -> None:
        schema = self.plan.schema
        spot.flag("missing_unit", units < 0, schema.unit)
        spot.flag("bad_time", times.bad, schema.time, times)
        spot.flag("missing_time", (times.values == NO_TIME) & ~times.bad, schema.time)
        known = times.values != NO_TIME
        late = known & (times.values >= ((self.today - date(1970, 1, 1)).days + 1) * DAY_MICROS)
        spot.flag("future_time", late, schema.time, values=times.values)
        spot.flag(
            "ancient_time", known & (times.values < ANCIENT), schema.time, values=times.values
        )

    def _number(self, spot: "Spot", column: pa.Array, name: str) -> NDArray[np.float64]:
        schema = self.plan.schema
        money = name in (schema.budget, schema.spend_column, *schema.channels)
        parsed = to_numbers(column, name, allow_text=self.text, allow_bool=not money)
        values = parsed.values + 0.0  # a copy, with −0.0 made 0.0
        _check_numbers(spot, parsed, values, name)
        if money and not _within(values, LARGEST_AMOUNT, 0.0):
            spot.flag("negative", values < 0, name, values=values)
            spot.flag(
                "too_large",
                np.isfinite(values) & (np.abs(values) > LARGEST_AMOUNT),
                name,
                values=values,
            )
        if name == schema.propensity:
            spot.flag("not_positive", values <= 0, name, values=values)
        if name in schema.channels or name == schema.spend_column:
            empty, counted = np.isnan(values) & ~parsed.bad, ~_dropped(self, spot.units)
            self.missing_cells[name] = self.missing_cells.get(name, 0) + int(
                (empty & counted).sum()
            )
            self.zero_cells[name] = self.zero_cells.get(name, 0) + int(
                ((values == 0) & counted).sum()
            )
            values[empty] = 0.0
        return values

    def _feature(self, spot: "Spot", column: pa.Array, name: str, kind: str) -> NDArray[Any]:
        if kind == "time":
            parsed = to_times(column, name)[0]
            spot.flag("bad_time", parsed.bad, name, parsed)
            return parsed.values
        if kind == "bool" and self.text:
            lower = pc.utf8_lower(pc.utf8_trim_whitespace(column))
            column = pc.if_else(
                pc.is_in(lower, value_set=pa.array(["true", "false"])),
                pc.equal(lower, "true"),
                None,
            )
        parsed = to_numbers(column, name, allow_text=self.text)
        _check_numbers(spot, parsed, parsed.values, name)
        with np.errstate(over="ignore"):
            return parsed.values.astype(np.float32)


@dataclass(frozen=True)
class Spot:
    """Speaks of rows of one piece: who they are and where they stand."""

    intake: Intake
    piece: Piece | None
    units: NDArray[np.int32]
    times: NDArray[np.int64]
    wrong: list[Mask] = field(default_factory=list)  # rows that broke a rule which stops reading

    def flag(
        self,
        code: str,
        mask: Mask,
        column: str | None,
        parsed: Parsed | None = None,
        values: NDArray[Any] | None = None,
        detail: str = "",
    ) -> None:
        """Count the rows of `mask` against a rule, quoting the first one's value."""
        count = int(np.count_nonzero(mask))
        if not count:
            return
        if self.intake.forgive and RULES[code].level == "error":
            self.wrong.append(mask)
        row = int(np.argmax(mask))
        value = parsed.quote(row) if parsed else say(values[row]) if values is not None else ""
        where = self.piece.where(row) if self.piece else ""
        first = First(
            where,
            self._unit(row),
            say(self.times[row]) if self.times[row] != NO_TIME else None,
            value,
            detail,
        )
        self.intake.tally.add(code, column, count, first)

    def _unit(self, row: int) -> str | None:
        code = int(self.units[row])
        words = self.intake.unit_words.values
        return None if code < 0 or words is None else str(words[code].as_py())


def _check_numbers(spot: Spot, parsed: Parsed, values: NDArray[np.float64], column: str) -> None:
    """Flag what is no number, infinite, or so large that nobody means it."""
    spot.flag("not_a_number", parsed.bad, column, parsed)
    if _within(values, LARGEST_NUMBER, -LARGEST_NUMBER):
        return
    spot.flag("infinite", np.isinf(values), column, values=values)
    spot.flag(
        "absurd", np.isfinite(values) & (np.abs(values) > LARGEST_NUMBER), column, values=values
    )


def _within(values: NDArray[np.float64], largest: float, smallest: float) -> bool:
    """Whether all are, as usual; a missing one is not."""
    return bool(len(values)) and bool(values.min() >= smallest and values.max() <= largest)


def check_split(intake: Intake, spot: Spot, rows: Rows) -> Rows:
    """Check how each row splits its budget and that its outcome is there; drop rows that carry nothing."""
    schema = intake.plan.schema
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.sum([rows.columns[name] for name in schema.channels], axis=0)
    dropped = _dropped(intake, rows.units)
    keep = ~dropped
    if schema.budget is None:
        spot.flag("zero_budget", keep & (total == 0), None)
        keep &= total != 0
    else:
        budget = rows.columns[schema.budget]
        spot.flag("missing_budget", keep & np.isnan(budget), schema.budget)
        spot.flag("zero_budget", keep & (budget == 0), schema.budget)
        keep &= (budget != 0) & ~np.isnan(budget)
        tolerance = 1e-6 + 2e-7 * len(schema.channels)
        wrong = keep & (np.abs(total - 1) > tolerance)
        spot.flag(
            "shares_sum",
            wrong,
            None,
            values=total,
            detail=_explain_sum(total[wrong], budget[wrong]),
        )
    if intake.plan.has_outcome:
        _check_outcomes(intake, spot, rows, keep)
    for wrong in spot.wrong:
        keep &= ~wrong
    if keep.all():
        return rows
    aside = ~keep & ~dropped
    intake.aside.append((rows.units[aside], rows.times[aside]))
    return rows.take(keep)


def _check_outcomes(intake: Intake, spot: Spot, rows: Rows, keep: Mask) -> None:
    schema = intake.plan.schema
    for name in (schema.outcome, *schema.guardrails):
        values = rows.columns[name]
        code = "missing_outcome" if name == schema.outcome else "missing_guardrail"
        spot.flag(code, keep & np.isnan(values), name)
        keep &= ~np.isnan(values)
    spot.flag("negative_outcome", keep & (rows.columns[schema.outcome] < 0), schema.outcome)


def _dropped(intake: Intake, units: NDArray[np.int32]) -> Mask:
    words = intake.unit_words.values
    if not intake.plan.schema.drop_units or words is None:
        return np.zeros(len(units), dtype=bool)
    named = pc.is_in(
        words.cast(pa.string()), value_set=pa.array(intake.plan.schema.drop_units, pa.string())
    )
    return np.append(named.to_numpy(zero_copy_only=False), False)[units]


def _explain_sum(total: NDArray[np.float64], budget: NDArray[np.float64]) -> str:
    """What shares that do not sum to 1 look like."""
    if not len(total):
        return ""

    def mostly(close: Mask) -> bool:
        return bool(close.mean() > 0.5)

    if mostly(np.abs(total - 100) < 1):
        return "They look like percent: divide the channel columns by 100."
    if mostly(np.abs(total - 10_000) < 100):
        return "They look like basis points: divide the channel columns by 10,000."
    if mostly(np.abs(total - budget) <= 1e-6 * np.abs(budget) + 0.01):
        return "They look like amounts of the budget column: leave out `budget=`."
    if mostly(np.abs(total - 1) < 0.02):
        return "They look rounded: divide each row's channels by their sum before reading."
    return "If these columns are amounts, leave out `budget=`; otherwise correct or drop the rows."


def say(value: Any) -> str:
    """A number or a moment (int64 microseconds) for a message."""
    if np.asarray(value).dtype == np.int64:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(value))
        return (
            moment.strftime("%Y-%m-%d")
            if int(value) % DAY_MICROS == 0
            else moment.strftime("%Y-%m-%dT%H:%M:%S")
        )
    return f"{float(value):.6g}"


def _resized(values: NDArray[Any], size: int) -> NDArray[Any]:
    if size <= len(values):
        return values[:size].copy()
    bigger = np.empty(size, values.dtype)
    bigger[: len(values)] = values
    return bigger


def _as_text(column: pa.Array, name: str) -> pa.Array:
    """A categorical column as text, blanks as missing."""
    try:
        text = decoded(column, name).cast(pa.string())
    except pa.ArrowException as problem:
        raise LogError(
            f"Expected text or numbers in the category {name!r}, got the type {column.type}."
        ) from problem
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
