"""The console over a large log: CPU of a first view, of filters, of a what-if, and memory.

Real decisions on 5,000 rows are repeated under other names up to `--rows`, in `--runs` entries of
the decision log. Prints and writes benchmarks/results/console_scale.json.
Run: python -m benchmarks.console_scale [--rows 500000 --runs 20]
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.console.asking import get
from tests.small import CONFIG, fitted, window

from realloc.batch import Options, recommend_file
from realloc.console.app import make_console
from realloc.console.source import ConsoleSource
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store

OUT = Path(__file__).parent / "results" / "console_scale.json"
FILES = 8  # of an entry
PAGES = {
    "overview": "/",
    "items": "/items",
    "items by reason and gain": "/items?reason=moved&order=gain",
    "items by channel": "/items?channel=ads&sign=up",
    "items by prefix": "/items?prefix=s97-item-0005&order=unit&up=1",
    "item": "/item?row={row}",
    "what-if": "/whatif.json?row={row}&to0=30&to1=40&to2=30",
    "decision log": "/log",
}


def main() -> None:
    """Make the log, ask for every page three times, keep the least CPU."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = make_log(Path(folder), given.rows, given.runs)
        source = ConsoleSource(store)
        told = {"rows": given.rows, "runs": given.runs}
        told["start, CPU s"] = round(cpu(source.warm), 2)
        app = make_console(source, None, frozenset({"localhost"}))
        for name, path in PAGES.items():
            address = path.format(row=given.rows * 3 // 4)
            shown = get(app, address)
            if shown.status != 200:
                raise SystemExit(f"Expected {address} to answer, got {shown.status}.")
            least = min(cpu(lambda address=address: get(app, address)) for _ in range(3))
            told[f"{name}, CPU s"] = round(least, 3)
            told[f"{name}, kB"] = round(len(shown.body) / 1000, 1)
    told["memory, MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(told, indent=2))
    OUT.write_text(json.dumps(told, indent=2) + "\n")


def cpu(call: Callable[[], object]) -> float:
    """The processor time of a call, over all threads."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def make_log(root: Path, rows: int, runs: int) -> Store:
    """A store whose log holds so many entries of so many rows."""
    store = Store(root / "store")
    store.commit(fitted(), window(0))
    today = window(97, units=1000).to_pandas().drop(columns="orders")
    today.to_parquet(root / "today.parquet")
    options = Options(config=CONFIG, force=True)
    recommend_file(str(root / "today.parquet"), store.path, root / "recs.parquet", options)
    ledger = Ledger(store.path / DECISIONS)
    entry = ledger.entry(1)
    table = pa.concat_tables(ledger.read(entry))
    files = write_copies(root, table, rows // table.num_rows)
    for number in range(runs):
        named: Entry = replace(entry, run=f"run-{number:03d}", segments=(), rows=0)
        ledger.append(named, [path.read_bytes() for path in files])
    return store


def write_copies(root: Path, table: pa.Table, copies: int) -> list[Path]:
    """The rows under other names, over and over, in a few files."""
    files: list[Path] = []
    inputs = table["inputs"].combine_chunks()
    names = [field.name for field in inputs.type]
    for part in range(FILES):
        pieces: list[pa.Table] = []
        for copy in range(part * copies // FILES, (part + 1) * copies // FILES):
            units = pa.array([f"{unit}-{copy:03d}" for unit in table["unit"].to_pylist()])
            own = [units if name == "item_id" else inputs.field(name) for name in names]
            places = np.arange(table.num_rows) + copy * table.num_rows
            changed = {
                "unit": units,
                "row": pa.array(places),
                "inputs": pa.StructArray.from_arrays(own, names=names),
            }
            piece = table
            for name, values in changed.items():
                piece = piece.set_column(piece.column_names.index(name), name, values)
            pieces.append(piece)
        files.append(root / f"part{part}.parquet")
        pq.write_table(
            pa.concat_tables(pieces),
            files[-1],
            compression="zstd",
            write_page_checksum=True,
        )
    return files


if __name__ == "__main__":
    main()
