"""Decisions as rows of the log: what was decided, why, and the inputs to decide again from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, groupby
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.simplex import Integers
from realloc.logs import Logs, Schema
from realloc.logs.plain import PlainLogs, join_columns
from realloc.logs.reading.read import Today
from realloc.storage.ledger.fingerprint import BYTES, fingerprint, input_names

INPUTS = "inputs"
FINGERPRINT = "fingerprint"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Columns of answers.
KEPT = (
    "moved",
    "gain",
    "gain_lower",
    "support",
    "moved_share",
    "steps",
    "reason",
    "gain_error",
    "common_error",
    "limited_by",
)


@dataclass(frozen=True)
class Run:
    """Who decides: an id, the time it began, and the version that answers."""

    id: str
    made: datetime
    version: int | None


def log_rows(answers: pa.Table, today: Today, first: int, run: Run) -> pa.Table:
    """Rows of the log for `answers`; `first` is the place of today's first row in the input."""
    logs = today.logs
    schema = logs.schema
    n = answers.num_rows
    spread = _spread(today.positions, n)
    digests = pa.array(fingerprint(logs), pa.binary(BYTES))
    columns: dict[str, Any] = {
        "run": pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(n, np.int32)), pa.array([run.id])
        ),
        "row": pa.array(first + today.rows),
        "made": pa.repeat(pa.scalar(run.made, pa.timestamp("us", tz="UTC")), n),
        "version": pa.repeat(pa.scalar(run.version, pa.int32()), n),
        "unit": answers[schema.unit].cast(pa.string()),
        "time": spread(logs.table[schema.time].cast(pa.timestamp("us"))),
        FINGERPRINT: spread(digests),
    }
    names = [*schema.share_columns, *schema.spend_columns]
    given = dict(zip(answers.column_names, answers.columns, strict=True))
    columns |= {name: given[name] for name in (*names, *KEPT) if name in given}
    columns[INPUTS] = spread(pack_inputs(logs))
    return pa.table(columns)


@dataclass(frozen=True)
class PackedRows:
    """Rows of the log as JSON."""

    content: bytes
    num_rows: int  # as a table calls it


def pack_plain(answers: dict[str, NDArray[Any]], logs: PlainLogs, run: Run) -> PackedRows:
    """The same as JSON, which costs a hundredth of a table; `unpack_plain` makes rows of it."""
    schema = logs.schema
    names = [*schema.share_columns, *schema.spend_columns, *KEPT]
    frame = {
        "run": run.id,
        "made": run.made.isoformat(),
        "version": run.version,
        "answers": {name: answers[name].tolist() for name in names if name in answers},
        "inputs": logs.columns.to_lists(),
    }
    content = orjson.dumps(frame, option=orjson.OPT_SERIALIZE_NUMPY)
    return PackedRows(content, len(logs))


def unpack_plain(frames: Sequence[bytes], schema: Schema) -> Iterator[pa.Table]:
    """The rows of the log that `pack_plain` packed, in tables of alike ones."""
    parts = [orjson.loads(frame) for frame in frames]
    for _, group in groupby(parts, key=_kind):
        alike = list(group)
        columns = join_columns([part["inputs"] for part in alike])
        logs = PlainLogs(schema, columns)
        answers = {schema.unit: columns.units}
        for name in alike[0]["answers"]:
            answers[name] = list(
                chain.from_iterable(part["answers"][name] for part in alike)
            )
        table = pa.table(answers)
        n = len(columns.units)
        today = Today(logs, np.arange(n), table.select([schema.unit]), ())
        sizes = [len(part["inputs"]["units"]) for part in alike]
        rows = log_rows(table, today, 0, Run("", EPOCH, alike[0]["version"]))
        which = np.repeat(np.arange(len(alike), dtype=np.int32), sizes)
        made = pa.array([datetime.fromisoformat(part["made"]) for part in alike])
        own = {
            "run": pa.DictionaryArray.from_arrays(which, [part["run"] for part in alike]),
            "row": pa.array(np.concatenate([np.arange(size) for size in sizes])),
            "made": made.cast(rows.schema.field("made").type).take(pa.array(which)),
        }
        for name, values in own.items():
            rows = rows.set_column(rows.schema.get_field_index(name), name, values)
        yield rows


def _kind(part: dict[str, Any]) -> tuple[Any, ...]:
    """What rows of one table share: the version, the type of their ids, their columns."""
    given = part["inputs"]
    return part["version"], type(given["units"][0]), *given["flags"], *part["answers"]


def _spread(positions: Integers, n: int) -> Callable[[Any], Any]:
    """A function that brings values of usable rows to their places among n; the rest is missing."""
    if np.array_equal(positions, np.arange(n)):
        return lambda values: values
    place = np.full(n, -1)
    place[positions] = np.arange(len(positions))
    take = pa.array(place, mask=place < 0)
    return lambda values: values.take(take)


def pack_inputs(logs: Logs) -> pa.Array:
    """The rows as one column of structs: all that the model reads, in the types it reads."""
    names = list(input_names(logs))
    parts = [_plain(logs.table[name]) for name in names]
    return pa.StructArray.from_arrays(parts, names=names)


def unpack_inputs(column: pa.ChunkedArray, schema: Schema) -> Logs:
    """The logs that `pack_inputs` packed, in the order of the column; missing rows are left out."""
    table = pa.Table.from_struct_array(column.drop_null())
    texts = {schema.unit, *(schema.categorical or ())}
    for place, name in enumerate(table.column_names):
        if name in texts:
            table = table.set_column(place, name, _plain(table[name]).dictionary_encode())
    return Logs(schema, table, tuple(schema.features or ()))


def _plain(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    elif pa.types.is_boolean(column.type):  # the same to a model, and to a query over both
        column = column.cast(pa.float32())
    return column.combine_chunks()
