"""How an input is cut into chunks: found out by one scan, and then by reading what it found.

Processes that share a place share the scan: the first one that ends writes it down.
"""

import json
from dataclasses import asdict, dataclass

import numpy as np

from realloc.base.place import Place
from realloc.base.simplex import Integers
from realloc.base.strict_json import parse_object
from realloc.batch.checkpoint import WORK, digest_of
from realloc.batch.chunks import fingerprint_files, identify_files
from realloc.batch.keys import scan_keys
from realloc.logs import Schema
from realloc.logs.reading.source import Source


@dataclass(frozen=True)
class ChunkPlan:
    """The chunks of an input, and which of its rows repeat a key; plain values for JSON."""

    sha256: str  # of the input's files
    rows: int
    decisions: int  # how many are made, unless the rows of a unit and time are scattered
    starts: list[int]  # the first row of each chunk
    repeated: list[int]  # places of rows that repeat a key
    units_repeat: bool
    scattered: bool

    @property
    def numbers(self) -> range:
        """The numbers of all chunks."""
        return range(len(self.starts))

    def repeated_in(self, first: int, rows: int) -> Integers:
        """The repeated rows of a chunk, by their places in the input."""
        places = np.array(self.repeated, dtype=np.int64)
        return places[(places >= first) & (places < first + rows)]


def scan(source: Source, schema: Schema, long: bool, chunk_rows: int) -> ChunkPlan:
    """Read every byte and every key once."""
    digest = fingerprint_files(source)
    keys = scan_keys(source, schema, long)
    return ChunkPlan(
        sha256=digest,
        rows=keys.rows,
        decisions=max(1, keys.rows if keys.runs is None else len(keys.runs)),
        starts=keys.chunk_starts(chunk_rows),
        repeated=keys.repeated.tolist(),
        units_repeat=keys.units_repeat,
        scattered=keys.scattered,
    )


def find_plan(
    place: Place, source: Source, schema: Schema, long: bool, chunk_rows: int
) -> ChunkPlan:
    """The plan that another process has left, for files of the same names, sizes and times."""
    files = [[path, size, time] for path, _, size, time in identify_files(source)]
    asked = {"files": files, "schema": asdict(schema), "chunk_rows": chunk_rows}
    name = f"{WORK}/plan-{digest_of(asked)[:16]}.json"
    try:
        record = parse_object(place.read(name))
        if record.pop("digest") == digest_of(record):
            return ChunkPlan(**record)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    plan = scan(source, schema, long, chunk_rows)
    record = asdict(plan)
    record["digest"] = digest_of(record)
    content = json.dumps(record).encode()
    if not place.create(name, content) and place.read(name) != content:
        place.replace(name, content)  # damaged
    return plan
