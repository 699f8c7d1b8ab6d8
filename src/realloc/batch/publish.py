"""How an output gets its name: written beside it under another, brought down to the disk, then renamed in one step."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from realloc.base import disk

ENDINGS = (".parquet", ".csv")


def beside(out: Path) -> Path:
    """The name under which an output is written; hidden, and of no kind that other tools would read."""
    return out.with_name(f".{out.name}.new")


def refused_name(out: Path) -> Path:
    """Where results go that may not be published."""
    return out.with_name(f"{out.stem}.refused{out.suffix}")


def summary_name(out: Path) -> Path:
    """Where the summary of a run goes unless somebody asks for another place."""
    return out.with_name(f"{out.stem}.summary.json")


def write_beside(parts: Iterable[pa.Table], out: Path) -> Path:
    """All parts as one file under the other name, part by part, down to the disk."""
    place = beside(out)
    if place.exists():
        disk.remove_file(place)
    try:
        if out.suffix == ".csv":
            _write_csv(parts, place)
        else:
            _write_parquet(parts, place)
        disk.sync_file(place)
    except BaseException:
        place.unlink(missing_ok=True)  # half a file is of no use, and the disk may be full of it
        raise
    return place


def give_name(place: Path, out: Path) -> None:
    """From now on it is there, whole; and after a power loss, too."""
    disk.rename(place, out)
    disk.sync_folder(out.parent)


def write_json(told: dict[str, Any], out: Path) -> None:
    """A small file in one step."""
    place = beside(out)
    if place.exists():
        disk.remove_file(place)
    disk.write_new_file(place, json.dumps(told, indent=2, ensure_ascii=False).encode() + b"\n")
    give_name(place, out)


def _write_parquet(parts: Iterable[pa.Table], place: Path) -> None:
    writer = None
    try:
        for part in parts:
            if writer is None:
                writer = pq.ParquetWriter(place, part.schema, write_page_checksum=True)
            writer.write_table(part)
    finally:
        if writer is not None:
            writer.close()


def _write_csv(parts: Iterable[pa.Table], place: Path) -> None:
    writer = None
    try:
        for part in parts:
            if writer is None:
                writer = pa_csv.CSVWriter(place, part.schema)
            writer.write_table(part)
    finally:
        if writer is not None:
            writer.close()
