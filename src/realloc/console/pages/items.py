"""Items: the rows of a run, filtered and sorted, page by page; and the selection as a file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from realloc.console.run_rows import RunRows
from realloc.console.screen import Screen, Visit
from realloc.console.selection import ORDERS, SIGNS, RowSelection
from realloc.decide.types import REASONS
from realloc.storage.ledger.entry import Entry


def read_selection(
    visit: Visit, rows: RunRows, query: Mapping[str, str] | None = None
) -> RowSelection:
    """The selection of an address; a category comes as `column=value`."""
    given = dict(visit.query if query is None else query)
    column, _, value = given.get("category", "").partition("=")
    if column:
        given |= {"column": column, "value": value}
    return RowSelection.read(given, rows.categories)


def items(visit: Visit) -> Screen:
    """One page of rows."""
    entry = visit.source.run(visit.text("run"))
    rows = visit.source.rows(entry)
    selection = read_selection(visit, rows)
    page = rows.page(selection)
    found = page.rows
    channels = rows.schema.channels
    counted = visit.source.figures(entry).reasons
    return Screen(
        title="Items",
        menu="/items",
        template="items.html",
        subtitle=f"Run {entry.run}, {entry.rows:,} rows.",
        values={
            "run": entry,
            "unit": rows.schema.unit,
            "channels": channels,
            "selection": selection,
            "category": f"{selection.column}={selection.value}" if selection.column else "",
            "address": address(entry, selection),
            "totals": rows.totals(selection),
            "page": page,
            "mixes": {row["row"]: rows.mixes(row) for row in found},
            "links": {
                row["row"]: address(entry, selection, row=row["row"]) for row in found
            },
            "earlier": address(entry, selection, after=None, before=found[0]["row"])
            if page.earlier and found
            else "",
            "later": address(entry, selection, before=None, after=found[-1]["row"])
            if page.later and found
            else "",
            "words": REASONS,
            "reasons": [(name, REASONS.get(name, name)) for name in counted],
            "channel_choices": [(name, name) for name in channels],
            "signs": list(SIGNS.items()),
            "orders": [pair for pair in ORDERS.items() if pair[0] != "money"],
            "limits": [(name, name) for name in rows.limits()],
            "columns": [
                (f"{column}={value}", f"{column}: {value}")
                for column in rows.categories
                for value in rows.values_of(column)
            ],
        },
    )


def address(entry: Entry, selection: RowSelection, **changes: int | None) -> str:
    """The part of an address after the question mark; `row` names a single one."""
    row = changes.pop("row", None)
    parts = {"run": entry.run} if row is None else {"run": entry.run, "row": row}
    further = selection.address(**changes) if changes else selection.address()
    return "&".join(filter(None, (urlencode(parts), further)))


def csv_chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """Rows as CSV, in pieces, so that memory does not grow with it."""
    first = True
    for batch in batches:
        sink = pa.BufferOutputStream()
        options = pa_csv.WriteOptions(include_header=first)
        pa_csv.write_csv(pa.Table.from_batches([batch]), sink, options)
        first = False
        yield sink.getvalue().to_pybytes()


def write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    """Rows as a Parquet file."""
    writer = None
    try:
        for batch in batches:
            writer = writer or pq.ParquetWriter(path, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
