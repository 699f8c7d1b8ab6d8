"""Rows of a run as logs, to ask a model about them again."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base.errors import LedgerError
from realloc.base.validation import from_table
from realloc.logs import Logs, Schema
from realloc.report.run import WHERE
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.ledger.rows import INPUTS, unpack_inputs

SAMPLE = 2_000  # rows that figures about a whole run are estimated on


def sample_rows(ledger: Ledger, entry: Entry, most: int | None = SAMPLE) -> Logs:
    """Rows of a run that could be read, evenly spread, at most so many; None: all."""
    chosen = np.arange(entry.rows)
    if most is not None and entry.rows > most:
        chosen = np.unique(np.linspace(0, entry.rows - 1, most).astype(np.int64))
    parts: list[pa.ChunkedArray] = []
    first = 0
    for segment in entry.segments:
        own = chosen[(chosen >= first) & (chosen < first + segment.rows)] - first
        first += segment.rows
        if len(own):
            file = pq.ParquetFile(ledger.folder(entry.number) / segment.name)
            parts.append(file.read(columns=[INPUTS])[INPUTS].take(pa.array(own)))
    chunks = [chunk for part in parts for chunk in part.drop_null().chunks]
    if not chunks:
        raise LedgerError(
            f"Expected rows that could be read in run {entry.run!r}, got none."
        )
    schema = from_table(Schema, entry.schema, WHERE)
    return unpack_inputs(pa.chunked_array(chunks), schema)
