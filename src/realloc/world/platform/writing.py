# pyright: reportUnknownParameterType=false
# (pyarrow ships no types: its tables and arrays are unknown to the checker)
"""Partitioned Parquet, a block of items at a time: `date=YYYY-MM-DD/items-<block>.parquet`.

The date stands in the folder's name only, as in any hive-partitioned table; `_world.json` holds the
card.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base.errors import ConfigError

CARD_NAME = "_world.json"
Progress = Callable[[int, int], None]  # rows written, rows in all


@dataclass(frozen=True, kw_only=True)
class Written:
    """What was written where."""

    folder: Path
    rows: int
    files: int
    size_bytes: int


def write_partitions(
    folder: Path,
    blocks: Iterator[Iterator[tuple[str, pa.Table]]],
    card: Mapping[str, Any],
    progress: Progress | None,
) -> Written:
    """Write blocks of days; a block of items yields each day's partition name and table."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        # Old partitions would mix with new ones.
        raise ConfigError(
            f"Expected a new or empty folder to write to, got {str(folder)!r}, which holds "
            "something."
        )
    folder.mkdir(parents=True, exist_ok=True)
    total = int(card["rows"])
    rows = files = size = 0
    for number, days in enumerate(blocks):
        for partition, table in days:
            path = folder / partition / f"items-{number:05d}.parquet"
            path.parent.mkdir(exist_ok=True)
            rest = table.drop_columns([partition.partition("=")[0]])
            pq.write_table(rest, path, compression="zstd", write_page_checksum=True)
            rows += table.num_rows
            files += 1
            size += path.stat().st_size
            if progress is not None:
                progress(rows, total)
    # Last: a folder with a card is a whole one.
    (folder / CARD_NAME).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return Written(folder=folder, rows=rows, files=files, size_bytes=size)
