"""Malformed typed tables: Arrow columns of every type, frames, and broken Parquet bytes."""

import io
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import realloc
from tests.logs.malform import CHANNELS, SHARES, SPENDS
from tests.logs.reference import Plain

PARTS = ("item", "date", "ads", "orders", "price", "color")
ROWS = 12


@dataclass(frozen=True)
class TableCase:
    """One malformed table and the same as plain values, where they can be told."""

    name: str
    table: Any
    schema: realloc.Schema
    plain: Plain | None


def base_columns(seed: int, shares: bool = False) -> dict[str, list[Any]]:
    """A sound log as columns of Python values."""
    rng = random.Random(seed)
    columns: dict[str, list[Any]] = {
        "item": [f"i{row // 3}" for row in range(ROWS)],
        "date": [date(2026, 1, 5) + timedelta(days=row % 3) for row in range(ROWS)],
    }
    for name in CHANNELS:
        columns[name] = [rng.randint(1, 9999) / 100 for _ in range(ROWS)]
    if shares:
        columns["budget"] = [
            sum(columns[name][row] for name in CHANNELS) for row in range(ROWS)
        ]
        for name in CHANNELS:
            columns[name] = [
                columns[name][row] / columns["budget"][row] for row in range(ROWS)
            ]
    columns["orders"] = [float(rng.randint(0, 40)) for _ in range(ROWS)]
    columns["price"] = [rng.randint(100, 9999) / 100 for _ in range(ROWS)]
    columns["color"] = [rng.choice(["red", "blue"]) for _ in range(ROWS)]
    return columns


def plain_of(columns: dict[Any, list[Any]]) -> Plain:
    """Columns as records."""
    names = list(columns)
    return Plain(
        names,
        [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    )


def _values_of(column: pa.ChunkedArray) -> list[Any]:
    """A column as Python values; where Python has none (the year 50,000), something unusable."""
    try:
        return column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        return [object()] * len(column)


def plain_of_arrow(table: pa.Table) -> Plain:
    """Records of an Arrow table as Arrow itself says them."""
    columns = [_values_of(column) for column in table.columns]
    records = [
        dict(zip(table.column_names, row, strict=True))
        for row in zip(*columns, strict=True)
    ]
    return Plain(table.column_names, records)


def _numbers(n: int) -> list[int]:
    return [row % 7 + 1 for row in range(n)]


def _bad_text(n: int) -> pa.Array:
    """Text that is not UTF-8, as a careless writer leaves it in a file."""
    raw = b"".join(b"\xff%d" % (row % 10) for row in range(n))
    offsets = np.arange(0, 2 * n + 2, 2, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), n, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(raw)]
    )


def _moments(n: int, unit: str, start: int, step: int, zone: str | None = None) -> pa.Array:
    values = pa.array([start + step * row for row in range(n)], pa.int64())
    return values.cast(pa.timestamp(unit, tz=zone))


ARRAYS: dict[str, Callable[[int], pa.Array]] = {
    "int8": lambda n: pa.array(_numbers(n), pa.int8()),
    "uint64": lambda n: pa.array([2**64 - 1 - row for row in range(n)], pa.uint64()),
    "small uint64": lambda n: pa.array(_numbers(n), pa.uint64()),
    "int64 beyond 2^53": lambda n: pa.array(
        [2**53 + 1 + row for row in range(n)], pa.int64()
    ),
    "negative int64": lambda n: pa.array([-(2**62) + row for row in range(n)], pa.int64()),
    "half": lambda n: pa.array(np.arange(1, n + 1, dtype=np.float16)),
    "float32": lambda n: pa.array(np.arange(1, n + 1, dtype=np.float32)),
    "nan": lambda n: pa.array([math.nan] * n),
    "inf": lambda n: pa.array([math.inf] * n),
    "some -inf": lambda n: pa.array([-math.inf if row == 3 else 1.0 for row in range(n)]),
    "1e308": lambda n: pa.array([1e308] * n),
    "±1e308": lambda n: pa.array([1e308 * (-1) ** row for row in range(n)]),
    "5e-324": lambda n: pa.array([5e-324] * n),
    "-0.0": lambda n: pa.array([-0.0] * n),
    "1e14": lambda n: pa.array([1e14] * n),
    "negative": lambda n: pa.array([-1.0] * n),
    "null": pa.nulls,
    "nulls of float": lambda n: pa.nulls(n, pa.float64()),
    "nulls of text": lambda n: pa.nulls(n, pa.string()),
    "nulls of date": lambda n: pa.nulls(n, pa.date32()),
    "bool": lambda n: pa.array([row % 2 == 0 for row in range(n)]),
    "text numbers": lambda n: pa.array([str(row) for row in range(n)]),
    "large text": lambda n: pa.array([f"a{row}" for row in range(n)], pa.large_string()),
    "text view": lambda n: pa.array([f"a{row}" for row in range(n)], pa.string_view()),
    "text with NUL": lambda n: pa.array([f"a{row}\x00" for row in range(n)]),
    "text of blanks": lambda n: pa.array([" " * row for row in range(n)]),
    "text that differs in blanks": lambda n: pa.array(
        ["a" + " " * (row % 2) for row in range(n)]
    ),
    "text that is not UTF-8": _bad_text,
    "text in a dictionary": lambda n: pa.array(
        [f"a{row}" for row in range(n)]
    ).dictionary_encode(),
    "dictionary of numbers": lambda n: pa.array(
        [1.5 + row for row in range(n)]
    ).dictionary_encode(),
    "dictionary of whole numbers": lambda n: pa.array(list(range(n))).dictionary_encode(),
    "dictionary of dates": lambda n: pa.array([date(2026, 1, 1)] * n).dictionary_encode(),
    "dictionary with a null": lambda n: pa.array(
        [None if row == 2 else f"a{row}" for row in range(n)]
    ).dictionary_encode(),
    "bytes": lambda n: pa.array([b"\xff\x00"] * n),
    "fixed bytes": lambda n: pa.array([b"ab"] * n, pa.binary(2)),
    "decimal": lambda n: pa.array([Decimal("1.25")] * n, pa.decimal128(10, 2)),
    "decimal256": lambda n: pa.array([Decimal("1e40")] * n, pa.decimal256(60, 2)),
    "decimal32": lambda n: pa.array([Decimal("1.5")] * n, pa.decimal32(5, 1)),
    "date64": lambda n: pa.array([date(2026, 1, 1 + row) for row in range(n)], pa.date64()),
    "date32 far away": lambda n: pa.array(
        [2**31 - 1 - row for row in range(n)], pa.int32()
    ).cast(pa.date32()),
    "date32 long ago": lambda n: pa.array(
        [-(2**31) + row for row in range(n)], pa.int32()
    ).cast(pa.date32()),
    "seconds that overflow": lambda n: _moments(n, "s", 2**62, 86_400),
    "milliseconds that overflow": lambda n: _moments(n, "ms", 2**61, 86_400_000),
    "seconds": lambda n: _moments(n, "s", 1_767_225_600, 86_400),
    "nanoseconds": lambda n: _moments(n, "ns", 1_767_225_600_000_000_001, 1),
    "largest nanoseconds": lambda n: _moments(n, "ns", 2**63 - 1 - n, 1),
    "smallest microseconds": lambda n: _moments(n, "us", -(2**63) + 1, 1),
    "a zone": lambda n: _moments(n, "s", 1_767_225_600, 86_400, "Asia/Kolkata"),
    "future": lambda n: pa.array([date(2026, 11, 16)] * n),
    "text dates": lambda n: pa.array([f"2026-01-{row + 1:02d}" for row in range(n)]),
    "text dates of another form": lambda n: pa.array(
        [f"{row + 1}/1/2026" for row in range(n)]
    ),
    "time of day": lambda n: pa.array(list(range(n)), pa.time32("s")),
    "duration": lambda n: pa.array(list(range(n)), pa.duration("s")),
    "interval": lambda n: pa.array([(1, 2, 3)] * n, pa.month_day_nano_interval()),
    "lists": lambda n: pa.array([[1.0]] * n),
    "fixed lists": lambda n: pa.array([[1.0, 2.0]] * n, pa.list_(pa.float64(), 2)),
    "structs": lambda n: pa.array([{"a": 1}] * n),
    "maps": lambda n: pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int64())),
    "run ends": lambda n: pa.RunEndEncodedArray.from_arrays(
        pa.array([n], pa.int32()), pa.array([1.5])
    ),
    "uuid": lambda n: pa.array([bytes([row]) * 16 for row in range(n)], pa.uuid()),
    "json": lambda n: pa.array(["1"] * n, pa.json_()),
    "one value": lambda n: pa.array([5.0] * n),
    "lists of lists": lambda n: pa.array([[[1]]] * n),
}


def arrow_cases(seed: int) -> Iterator[TableCase]:
    """Every type in every part, as an Arrow table."""
    for part in PARTS:
        for label, make in ARRAYS.items():
            columns: dict[str, Any] = dict(base_columns(seed))
            columns[part] = make(ROWS)
            table = pa.table(columns)
            yield TableCase(
                f"arrow: {part} is {label}", table, SPENDS, plain_of_arrow(table)
            )


def shape_cases(seed: int) -> Iterator[TableCase]:
    """Tables of odd shapes: empty, one row, names twice, no columns, everything missing."""
    table = pa.table(base_columns(seed))
    twice = pa.Table.from_arrays(
        [*table.columns, table["ads"]], names=[*table.column_names, "ads"]
    )
    odd = {
        "empty": table.slice(0, 0),
        "one row": table.slice(0, 1),
        "no columns": pa.table({}),
        "no chunks": pa.table(
            {name: pa.chunked_array([], table[name].type) for name in table.column_names}
        ),
        "empty chunks": pa.concat_tables(
            [table.slice(0, 0), table, table.slice(0, 0), table.slice(0, 0)]
        ),
        "the same rows twice": pa.concat_tables([table, table]),
        "a name twice": twice,
        "an empty name": table.rename_columns([*table.column_names[:-1], ""]),
        "upper-case names": table.rename_columns(
            [name.upper() for name in table.column_names]
        ),
        "all null": pa.table({name: pa.nulls(ROWS) for name in table.column_names}),
        "reversed": table.take(list(range(ROWS - 1, -1, -1))),
        "one row per chunk": pa.concat_tables([table.slice(row, 1) for row in range(ROWS)]),
    }
    for name, value in odd.items():
        yield TableCase(
            f"arrow: {name}",
            value,
            SPENDS,
            plain_of_arrow(value) if name != "a name twice" else REFUSE,
        )
    yield TableCase("arrow: a batch", table.to_batches()[0], SPENDS, plain_of_arrow(table))


REFUSE = Plain(["twice", "twice"], [])
CELLS: tuple[Any, ...] = (
    None,
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    -1.0,
    1e308,
    9.1e13,
    5e-324,
    2**70,
    "5",
    "",
    "abc",
    b"5",
    True,
    Decimal("1.5"),
    Decimal("NaN"),
    1 + 2j,
    [1.0],
    {"a": 1},
    date(2026, 1, 9),
    date(2027, 1, 9),
    datetime(2026, 1, 9, 10, 30),
    datetime(2026, 1, 9, 10, 30, tzinfo=UTC),
    datetime(1, 1, 1),
    "2026-01-09",
    "09/01/2026",
    pd.NaT,
    pd.NA,
    pd.Timestamp("2026-01-09", tz="Asia/Tokyo"),
    pd.Timedelta(days=1),
    pd.Period("2026-01", "M"),
    np.datetime64("2026-01-09"),
    np.float32(1.5),
    np.int64(7),
    "\ud800",
    "a\x00",
    "i0 ",
    object(),
)


def pandas_cell_cases(seed: int) -> Iterator[TableCase]:
    """One odd value in an object column of every part."""
    for part in PARTS:
        for at, cell in enumerate(CELLS):
            columns = base_columns(seed + at)
            columns[part] = [*columns[part][:4], cell, *columns[part][5:]]
            frame = pd.DataFrame(
                {name: pd.Series(values, dtype=object) for name, values in columns.items()}
            )
            plain = plain_of(columns) if part not in ("price", "color") else None
            yield TableCase(f"pandas: a {part} is {cell!r:.40}", frame, SPENDS, plain)


FrameChange = Callable[[pd.DataFrame], pd.DataFrame]
PANDAS_CHANGES: dict[str, FrameChange] = {
    "unit in the index": lambda frame: frame.set_index("item"),
    "unit and date in the index": lambda frame: frame.set_index(["item", "date"]),
    "columns of two levels": lambda frame: pd.concat({"a": frame}, axis=1),
    "whole numbers as names": lambda frame: frame.set_axis(range(frame.shape[1]), axis=1),
    "one whole number as name": lambda frame: frame.rename(columns={"price": 7}),
    "None as name": lambda frame: frame.rename(columns={"price": None}),
    "NaN as name": lambda frame: frame.rename(columns={"price": math.nan}),
    "a date as name": lambda frame: frame.rename(
        columns={"price": pd.Timestamp("2026-01-01")}
    ),
    "a tuple as name": lambda frame: frame.rename(columns={"price": ("a", "b")}),
    "a name twice": lambda frame: pd.concat([frame, frame[["ads"]]], axis=1),
    "a feature twice": lambda frame: pd.concat([frame, frame[["price"]]], axis=1),
    "empty": lambda frame: frame.iloc[:0],
    "no columns": lambda frame: frame[[]],
    "one row": lambda frame: frame.iloc[:1],
    "all NaN": lambda frame: frame.assign(**dict.fromkeys(frame.columns, math.nan)),
    "all None": lambda frame: frame.assign(**dict.fromkeys(frame.columns)),
    "spends all NaN": lambda frame: frame.assign(**dict.fromkeys(CHANNELS, math.nan)),
    "outcomes all NaN": lambda frame: frame.assign(orders=math.nan),
    "some NaN": lambda frame: frame.mask(
        np.arange(frame.size).reshape(frame.shape) % 11 == 3
    ),
    "spends as text": lambda frame: frame.astype(dict.fromkeys(CHANNELS, str)),
    "spends in categories": lambda frame: frame.astype(dict.fromkeys(CHANNELS, "category")),
    "units in categories": lambda frame: frame.astype({"item": "category"}),
    "dates in categories": lambda frame: frame.assign(
        date=frame["date"].astype(str).astype("category")
    ),
    "nullable numbers": lambda frame: frame.astype(
        {**dict.fromkeys(CHANNELS, "Float64"), "orders": "Int64"}
    ),
    "arrow numbers": lambda frame: frame.astype(dict.fromkeys(CHANNELS, "double[pyarrow]")),
    "arrow text": lambda frame: frame.astype({"item": "string[pyarrow]"}),
    "complex spends": lambda frame: frame.astype({"ads": complex}),
    "half spends": lambda frame: frame.astype({"ads": "float32"}),
    "unsigned spends": lambda frame: frame.astype({"ads": "uint8"}),
    "sparse spends": lambda frame: frame.astype({"ads": pd.SparseDtype(float, 0.0)}),
    "true/false spends": lambda frame: frame.assign(ads=frame["ads"] > 1),
    "float units": lambda frame: frame.assign(item=np.arange(len(frame)) * 1.0),
    "true/false units": lambda frame: frame.assign(item=True),
    "date units": lambda frame: frame.assign(item=frame["date"]),
    "interval units": lambda frame: frame.assign(item=pd.interval_range(0, len(frame))),
    "dates with a zone": lambda frame: frame.assign(
        date=pd.to_datetime(frame["date"]).dt.tz_localize("Asia/Tokyo")
    ),
    "dates in seconds": lambda frame: frame.assign(
        date=pd.to_datetime(frame["date"]).astype("datetime64[s]")
    ),
    "dates as periods": lambda frame: frame.assign(
        date=pd.PeriodIndex(frame["date"].astype(str), freq="D")
    ),
    "dates as whole numbers": lambda frame: frame.assign(
        date=20260101 + np.arange(len(frame))
    ),
    "dates as floats": lambda frame: frame.assign(date=1.5e9 + np.arange(len(frame))),
    "dates in the future": lambda frame: frame.assign(date=date(2027, 1, 1)),
    "dates as text": lambda frame: frame.assign(date=frame["date"].astype(str)),
    "durations": lambda frame: frame.assign(
        price=pd.to_timedelta(frame["price"], unit="h")
    ),
    "lists": lambda frame: frame.assign(color=[[1]] * len(frame)),
    "shuffled": lambda frame: frame.sample(frac=1, random_state=1),
    "the same index twice": lambda frame: frame.set_axis([0] * len(frame), axis=0),
    "rows twice": lambda frame: pd.concat([frame, frame]),
    "infinite spends": lambda frame: frame.assign(ads=math.inf),
    "negative spends": lambda frame: frame.assign(ads=-1.0),
    "zero spends": lambda frame: frame.assign(**dict.fromkeys(CHANNELS, 0.0)),
    "huge spends": lambda frame: frame.assign(ads=1e300),
    "huge outcomes": lambda frame: frame.assign(
        orders=[1e308 * (-1) ** row for row in range(len(frame))]
    ),
    "upside down": lambda frame: frame.T,
    "price too large for a feature": lambda frame: frame.assign(price=1e39),
}
DIFFERS_IN_RECORDS = ("a name twice", "a feature twice")


def pandas_cases(seed: int) -> Iterator[TableCase]:
    """Frames of odd types and shapes, with spends and with shares."""
    for label, change in PANDAS_CHANGES.items():
        for schema in (SPENDS, SHARES):
            frame = change(pd.DataFrame(base_columns(seed, shares=schema is SHARES)))
            plain = REFUSE
            if label not in DIFFERS_IN_RECORDS:
                plain = Plain(list(frame.columns), frame.to_dict("records"))
            yield TableCase(
                f"pandas: {label}, {schema.budget or 'spends'}", frame, schema, plain
            )


PolarsChange = Callable[[pl.DataFrame], pl.DataFrame | pl.LazyFrame]
POLARS_CHANGES: dict[str, PolarsChange] = {
    "lazy": lambda frame: frame.lazy(),
    "lazy with a missing column": lambda frame: frame.lazy().select("nope"),
    "lazy without rows": lambda frame: frame.lazy().filter(pl.lit(False)),
    "empty": lambda frame: frame.clear(),
    "no columns": lambda _: pl.DataFrame(),
    "one row": lambda frame: frame.head(1),
    "all null": lambda frame: frame.select(
        pl.lit(None).alias(name) for name in frame.columns
    ),
    "spends as text": lambda frame: frame.with_columns(pl.col(CHANNELS).cast(pl.String)),
    "spends as decimals": lambda frame: frame.with_columns(
        pl.col(CHANNELS).cast(pl.Decimal(12, 2))
    ),
    "spends as lists": lambda frame: frame.with_columns(
        pl.concat_list(CHANNELS).alias("ads")
    ),
    "spends as structs": lambda frame: frame.with_columns(pl.struct(CHANNELS).alias("ads")),
    "units in categories": lambda frame: frame.with_columns(
        pl.col("item").cast(pl.Categorical)
    ),
    "units as enum": lambda frame: frame.with_columns(
        pl.col("item").cast(pl.Enum(["i0", "i1", "i2", "i3"]))
    ),
    "units as bytes": lambda frame: frame.with_columns(pl.col("item").cast(pl.Binary)),
    "dates as moments": lambda frame: frame.with_columns(
        pl.col("date").cast(pl.Datetime("ns"))
    ),
    "dates with a zone": lambda frame: frame.with_columns(
        pl.col("date").cast(pl.Datetime("ms")).dt.replace_time_zone("America/New_York")
    ),
    "dates as times": lambda frame: frame.with_columns(
        pl.lit(5).cast(pl.Time).alias("date")
    ),
    "dates as durations": lambda frame: frame.with_columns(
        pl.duration(days=1).alias("date")
    ),
    "dates as whole numbers": lambda frame: frame.with_columns(
        pl.col("date").cast(pl.Int32)
    ),
    "objects": lambda frame: frame.with_columns(
        pl.Series("color", [object()] * len(frame), dtype=pl.Object)
    ),
    "int128": lambda frame: frame.with_columns(
        pl.lit(2**100).cast(pl.Int128).alias("orders")
    ),
    "infinite": lambda frame: frame.with_columns(pl.lit(math.inf).alias("ads")),
    "NaN": lambda frame: frame.with_columns(pl.lit(math.nan).alias("orders")),
    "rows twice": lambda frame: pl.concat([frame, frame]),
    "future": lambda frame: frame.with_columns(pl.lit(date(2027, 1, 1)).alias("date")),
    "shuffled": lambda frame: frame.sample(fraction=1, shuffle=True, seed=3),
    "huge": lambda frame: frame.with_columns(pl.lit(1e308).alias("price")),
}


def polars_cases(seed: int) -> Iterator[TableCase]:
    """Polars frames, eager and lazy."""
    for label, change in POLARS_CHANGES.items():
        for schema in (SPENDS, SHARES):
            frame = change(pl.DataFrame(base_columns(seed, shares=schema is SHARES)))
            yield TableCase(
                f"polars: {label}, {schema.budget or 'spends'}",
                frame,
                schema,
                _plain_of_polars(frame),
            )


def _plain_of_polars(frame: pl.DataFrame | pl.LazyFrame) -> Plain | None:
    try:
        eager = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
        return Plain(eager.columns, eager.to_dicts())
    except Exception:  # polars itself cannot say what it holds
        return Plain([], [])


def parquet_bytes(table: pa.Table, **options: Any) -> bytes | None:
    """The table as a Parquet file, or None where Parquet has no such type."""
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink, **options)
    except pa.ArrowException:
        return None
    return sink.getvalue()


def _flip(content: bytes, at: int, rng: random.Random) -> bytes:
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def _hole(content: bytes, at: int, rng: random.Random) -> bytes:
    size = min(rng.randint(1, 64), len(content) - at)
    return content[:at] + bytes(size) + content[at + size :]


BREAKS: dict[str, Callable[[bytes, int, random.Random], bytes]] = {
    "cut": lambda content, at, _: content[:at],
    "zeros": lambda content, at, _: content[:at] + bytes(len(content) - at),
    "hole": _hole,
    "bit": _flip,
    "footer bit": lambda content, at, rng: _flip(content, len(content) - 1 - at // 3, rng),
    "removed": lambda content, at, rng: content[:at] + content[at + rng.randint(1, 9) :],
    "inserted": lambda content, at, rng: (
        content[:at] + rng.randbytes(rng.randint(1, 9)) + content[at:]
    ),
    "head lost": lambda content, at, _: content[at:],
}


def break_bytes(content: bytes, how: str, rng: random.Random) -> bytes:
    """Parquet bytes that a disk, a network or a careless job has changed."""
    return BREAKS[how](content, rng.randrange(len(content)), rng)
