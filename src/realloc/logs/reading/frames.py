"""pandas, polars and pyarrow tables to Arrow, through one door, refusing what the way there would change."""

import re
import warnings
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from realloc.base.errors import LogError


def to_arrow(source: Any) -> pa.Table:
    """Convert a frame. Column names must be text and unique, and an object column must hold one kind of value."""
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    _check_names(source)
    if isinstance(source, pa.Table):
        return source
    try:
        frame = nw.from_native(source)
    except TypeError as problem:
        kind = type(source).__name__
        text = (
            f"Expected a path, a list of paths, or a pandas, polars or pyarrow table, got {kind}."
        )
        raise LogError(text) from problem
    if isinstance(frame, nw.DataFrame) and frame.implementation.is_pandas():
        _check_objects(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # libraries warn about odd frames; we refuse or accept them ourselves
            eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
            return eager.to_arrow().select(eager.columns)  # pandas would add its index as a column
    except Exception as problem:  # frames can fail in as many ways as there are libraries
        raise LogError(_explain(source, problem)) from problem


def _check_names(source: Any) -> None:
    if hasattr(source, "collect") or not (
        hasattr(source, "columns") or hasattr(source, "column_names")
    ):
        return  # lazy frames know their columns only once collected, and cannot repeat one
    names: Sequence[Any] = list(
        source.column_names if hasattr(source, "column_names") else source.columns
    )
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise LogError(
            f"Expected column names that are text, got {odd[0]!r}. Rename the columns first."
        )
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise LogError(
            f"Expected every column once in the table, but {twice!r} stands there twice. Rename one of them."
        )


def _check_objects(frame: Any) -> None:
    """An object column may mix anything, and Arrow would bend it: True to 1, a number to a date, 10:30 to midnight."""
    for name in frame.columns:
        if frame[name].dtype == object:
            kinds = {_kind(value) for value in frame[name].dropna()}
            if len(kinds) > 1:
                listed = " and ".join(sorted(kinds))
                raise LogError(
                    f"Expected one kind of value in column {name!r}, got {listed}. Convert the column first."
                )


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "true/false"
    if isinstance(value, datetime):
        return "times with a zone" if value.tzinfo else "times"
    if isinstance(value, date):
        return "dates"
    if isinstance(value, Number | Decimal):
        return "numbers"
    return type(value).__name__


def _explain(source: Any, problem: Exception) -> str:
    detail = re.sub(r"<class '([^']*)'>", r"\1", " ".join(str(problem).split()))
    detail = re.sub(r"\b\w*(Error|Exception|Invalid|NotImplemented)\b:?\s*", "", detail)[:160]
    return (
        f"Expected a table whose columns each hold one type and have their own name, but this "
        f"{type(source).__name__} cannot be converted ({detail})."
    )
