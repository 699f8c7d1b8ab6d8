"""Logs: a validated table of what was known, how the budget was split, and what came out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.imports import need
from realloc.base.simplex import Floats, Integers, Mask, Rows, close
from realloc.logs.checks.finding import Finding
from realloc.logs.schema import Schema

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from realloc.logs.checks.check import Check
    from realloc.logs.overview import LogSummary

Words = tuple[Sequence[str], Integers]  # of a category, and one code per row into them


@dataclass(frozen=True, eq=False)
class Logs:
    """One row per unit and period. Nothing can be changed in place: Arrow inside, read-only arrays.

    Columns keep the user's names. Types are fixed: unit dictionary-encoded, time date32 or
    timestamp[us], channels, budget, outcome, guardrails and propensity float64, features float32,
    bool, dictionary, date32 or timestamp[us].
    """

    schema: Schema
    table: pa.Table
    features: tuple[str, ...]
    notes: tuple[
        Finding, ...
    ] = ()  # what reading found: rows set aside, columns left out, …

    def __len__(self) -> int:
        return self.table.num_rows

    def __repr__(self) -> str:
        return (
            f"Logs({len(self):,} rows, {self.unit_count:,} units, "
            f"{len(self.schema.channels)} channels, {len(self.features)} features)"
        )

    @property
    def unit_codes(self) -> NDArray[np.int32]:
        """One code per row into `units`."""
        return _frozen(self._unit_column.indices.to_numpy())

    @property
    def units(self) -> pa.Array:
        """The unit ids that codes point into; after a split some may have no row."""
        return self._unit_column.dictionary

    @property
    def _unit_column(self) -> pa.DictionaryArray:
        column = self.table[self.schema.unit]
        if column.num_chunks == 1:
            return cast("pa.DictionaryArray", column.chunk(0))
        return cast("pa.DictionaryArray", column.combine_chunks())

    @cached_property
    def unit_count(self) -> int:
        """How many units have rows."""
        return int(np.count_nonzero(np.bincount(self.unit_codes)))

    @property
    def same_unit(self) -> Mask:
        """Whether each row but the first is of the same unit as the row before it."""
        return np.diff(self.unit_codes) == 0

    def unit_name(self, code: int) -> str:
        """The unit behind a code, for a message."""
        return str(self.units[int(code)].as_py())

    def unit_of(self, row: int) -> str:
        """The unit of a row, for a message."""
        return self.unit_name(self.unit_codes[row])

    def day_of(self, row: int) -> str:
        """The day of a row, for a message."""
        return str(self.times[row].astype("datetime64[D]"))

    @property
    def times(self) -> NDArray[np.datetime64]:
        """The period of each row."""
        return _frozen(self.table[self.schema.time].to_numpy())

    @property
    def amounts(self) -> Floats:
        """The channel columns as they were given, (n, K): spends, or shares of the budget."""
        return _frozen(self._matrix())

    @property
    def shares(self) -> Floats:
        """The allocation p of each row, (n, K), on the simplex to the last digit."""
        amounts = self._matrix()
        return _frozen(close(amounts, out=amounts))

    def shares_at(self, rows: Rows) -> Floats:
        """The allocations of some rows, (len(rows), K)."""
        return (
            replace(self, table=self.table.select(self.schema.channels)).take(rows).shares
        )

    def _matrix(self) -> Floats:
        columns = np.empty((len(self), len(self.schema.channels)))
        for k, name in enumerate(self.schema.channels):
            columns[:, k] = self.table[name].to_numpy()
        return columns

    @property
    def budget(self) -> Floats:
        """The budget B of each row."""
        if self.schema.budget is not None:
            return self._numbers(self.schema.budget)
        return _frozen(self.amounts.sum(axis=1))

    @property
    def outcome(self) -> Floats:
        """The outcome Y of each row."""
        if self.schema.outcome not in self.table.column_names:
            raise LogError(
                f"Expected the outcome column {self.schema.outcome!r}, "
                "but this log was read without it."
            )
        return self._numbers(self.schema.outcome)

    def guardrail(self, name: str) -> Floats:
        """A guardrail outcome of each row."""
        if name not in self.schema.guardrails:
            raise LogError(
                f"Expected one of the guardrails {list(self.schema.guardrails)}, got {name!r}."
            )
        return self._numbers(name)

    @property
    def propensity(self) -> Floats | None:
        """The logging density of each row's allocation, where the log has one."""
        return (
            None
            if self.schema.propensity is None
            else self._numbers(self.schema.propensity)
        )

    def feature(self, name: str) -> pa.ChunkedArray:
        """One feature column."""
        if name not in self.features:
            raise LogError(
                f"Expected one of the features {list(self.features)}, got {name!r}."
            )
        return self.table[name]

    @property
    def pinned_schema(self) -> Schema:
        """The schema with the features and kinds that reading chose, so that later rows agree."""
        categorical = [
            name for name in self.features if pa.types.is_dictionary(self.table[name].type)
        ]
        return replace(
            self.schema, features=self.features, categorical=tuple(categorical), notes={}
        )

    @property
    def unit_names(self) -> NDArray[np.str_]:
        """The unit of each row as text."""
        texts = self.units.cast(pa.string()).to_numpy(zero_copy_only=False)
        return np.asarray(texts, dtype=np.str_)[self.unit_codes]

    def is_category(self, name: str) -> bool:
        """Whether a feature is a category; else it is a number, flag or date."""
        return pa.types.is_dictionary(self.table[name].type)

    def floats(self, name: str) -> Floats:
        """A number, flag or date as float64, NaN where missing; dates count in days."""
        return as_floats(self.table[name])

    def words(self, name: str) -> "Words":
        """A category: its words, and one code per row into them, −1 where missing."""
        column = self.table[name].combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return column.dictionary.to_pylist(), codes

    def take(self, rows: Mask | Rows) -> "Logs":
        """The rows where a mask is true, or at the given positions."""
        if rows.dtype == np.bool_ and len(rows) != len(self):
            raise LogError(f"Expected a mask of {len(self)} rows, got {len(rows)}.")
        selected = pa.array(rows)
        mask = rows.dtype == np.bool_
        table = self.table.filter(selected) if mask else self.table.take(selected)
        return replace(self, table=table)

    def check(self) -> "Check":
        """What is wrong or risky in this log, and what it covers."""
        from realloc.logs.checks.check import check_logs

        return check_logs(self)

    def summary(self) -> "LogSummary":
        """What a person wants to know first: how much, of whom, when, and what changes."""
        from realloc.logs.overview import summarise

        if not len(self):
            raise LogError("Expected rows to summarise, but this part of the log is empty.")
        return summarise(self)

    def to_arrow(self) -> pa.Table:
        """As an Arrow table, unit ids decoded."""
        index = self.table.schema.get_field_index(self.schema.unit)
        column = self.table.column(index)
        decoded = column.cast(cast("pa.DictionaryType", column.type).value_type)
        return self.table.set_column(index, self.schema.unit, decoded)

    def to_pandas(self) -> "pd.DataFrame":
        """As a pandas frame."""
        need("pandas")
        return self.to_arrow().to_pandas(date_as_object=False)

    def to_polars(self) -> "pl.DataFrame":
        """As a polars frame."""
        return need("polars").from_arrow(self.to_arrow())

    def _numbers(self, name: str) -> Floats:
        return _frozen(self.table[name].to_numpy())


def as_floats(column: pa.ChunkedArray) -> Floats:
    """Numbers and flags as float64, dates as days since 1970; NaN where missing."""
    if pa.types.is_floating(column.type):
        return column.to_numpy().astype(np.float64, copy=False)
    if not pa.types.is_temporal(column.type):
        return column.cast(pa.float64()).to_numpy()
    micros = column.cast(pa.timestamp("us")).cast(pa.int64())
    return micros.cast(pa.float64(), safe=False).to_numpy() / 86_400e6


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    view = values.view()
    view.setflags(write=False)
    return view
