"""pandas, polars and pyarrow tables to Arrow; what the conversion would change is refused."""

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
    """Convert a frame. Names must be text and unique; object columns hold one kind of value."""
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    _check_names(source)
    if isinstance(source, pa.Table):
        return source
    try:
        frame = nw.from_native(source)
    except TypeError as problem:
        raise LogError(
            "Expected a path, a list of paths, or a pandas, polars or pyarrow table, "
            f"got {type(source).__name__}."
        ) from problem
    if isinstance(frame, nw.DataFrame) and frame.implementation.is_pandas():
        _check_objects(source)
    try:
        with warnings.catch_warnings():
            # Libraries warn about odd frames; we refuse or accept them ourselves.
            warnings.simplefilter("ignore")
            eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
            return eager.to_arrow().select(
                eager.columns
            )  # pandas would add its index as a column
    except Exception as problem:  # frames can fail in as many ways as there are libraries
        detail = re.sub(r"<class '([^']*)'>", r"\1", " ".join(str(problem).split()))
        detail = re.sub(r"\b\w*(Error|Exception|Invalid|NotImplemented)\b:?\s*", "", detail)
        raise LogError(
            "Expected a table whose columns each hold one type and have their own name, but this "
            f"{type(source).__name__} cannot be converted ({detail[:160]})."
        ) from problem


def _check_names(source: Any) -> None:
    if hasattr(source, "collect"):
        return  # lazy frames know their columns only once collected, and cannot repeat one
    names: Sequence[Any] = getattr(source, "column_names", getattr(source, "columns", ()))
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise LogError(
            f"Expected column names that are text, got {odd[0]!r}. Rename the columns first."
        )
    refuse_repeated(list(names), "the table")


def refuse_repeated(names: Sequence[str], place: str) -> None:
    """Refuse a table in which a column stands twice."""
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise LogError(
            f"Expected every column once in {place}, but {twice!r} stands there twice. "
            "Rename one of them."
        )


def _check_objects(frame: Any) -> None:
    """Refuse object columns of mixed kinds, which Arrow would change: True to 1, 10:30 to 0:00."""
    for name in frame.columns:
        if frame[name].dtype == object:
            kinds = {_kind(value) for value in frame[name].dropna()}
            if len(kinds) > 1:
                raise LogError(
                    f"Expected one kind of value in column {name!r}, "
                    f"got {' and '.join(sorted(kinds))}. Convert the column first."
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
