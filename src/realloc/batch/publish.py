"""How an output gets its name: written beside it under another, then renamed in one step."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from realloc.base import disk

ENDINGS = (".parquet", ".csv")


def refused_name(out: Path) -> Path:
    """Where results go that may not be published."""
    return out.with_name(f"{out.stem}.refused{out.suffix}")


def summary_name(out: Path) -> Path:
    """Where the summary of a run goes unless somebody asks for another place."""
    return out.with_name(f"{out.stem}.summary.json")


def write_beside(chunks: Iterable[pa.Table], out: Path) -> Path:
    """Write all chunks as one file beside `out`, chunk by chunk, down to the disk."""
    place = disk.beside(out)
    if place.exists():
        disk.remove_file(place)
    try:
        _write(chunks, place, csv=out.suffix == ".csv")
        disk.sync_file(place)
    except BaseException:
        # half a file is of no use, and the disk may be full of it
        place.unlink(missing_ok=True)
        raise
    return place


def _write(chunks: Iterable[pa.Table], place: Path, csv: bool) -> None:
    writer = None
    try:
        for chunk in chunks:
            if writer is None and csv:
                writer = pa_csv.CSVWriter(place, chunk.schema)
            elif writer is None:
                writer = pq.ParquetWriter(place, chunk.schema, write_page_checksum=True)
            writer.write_table(chunk)
    finally:
        if writer is not None:
            writer.close()
