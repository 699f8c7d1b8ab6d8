"""Spreadsheets: one sheet as a table of text, as if it had been saved as CSV. Types come later."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from realloc.base.errors import LogError
from realloc.base.imports import need
from realloc.logs.reading.csvtext import UNNAMED
from realloc.logs.reading.options import ReadOptions


def read_sheet(path: Path, read: ReadOptions) -> pa.Table:
    """The cells of a sheet: names in its first row that is not empty, a record in each other."""
    sheets = _open_sheets(path)
    if not sheets:
        raise LogError(f"Expected a sheet with rows in {path}, but all are empty.")
    if read.sheet is None and len(sheets) > 1:
        largest = _largest(sheets)
        raise LogError(
            f"Expected one sheet with rows in {path}, got {list(sheets)}. "
            f'Put sheet = "{largest}" into [read] of the config, or '
            f"read=realloc.ReadOptions(sheet={largest!r}) in Python."
        )
    name = read.sheet or next(iter(sheets))
    if name not in sheets:
        raise LogError(
            f"Expected a sheet {name!r} with rows in {path}, but there are {list(sheets)}."
        )
    rows = sheets[name]
    header = [_as_text(cell, read).strip() for cell in rows[0]]
    if header.count("") > len(header) / 2:
        raise LogError(
            f"Expected column names in the first row of sheet {name!r} of {path}, got "
            f"{[cell for cell in header if cell]}. Delete the rows above the column names."
        )
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else ([] for _ in header)
    arrays = [pa.array([_as_text(cell, read) for cell in column]) for column in columns]
    return pa.Table.from_arrays(
        [array.cast(pa.string()) for array in arrays], [cell or UNNAMED for cell in header]
    )


def find_sheet(path: Path) -> str | None:
    """The sheet with the most rows, where several have some."""
    sheets = _open_sheets(path)
    return _largest(sheets) if len(sheets) > 1 else None


def _open_sheets(path: Path) -> dict[str, list[list[Any]]]:
    """The rows of every sheet that has some."""
    calamine = need("python_calamine", "excel")
    try:
        with calamine.load_workbook(str(path)) as book:
            sheets = {
                name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names
            }
    except (calamine.CalamineError, OSError) as problem:
        raise LogError(
            f"Expected an Excel file at {path}, but it cannot be opened ({problem})."
        ) from problem
    return {name: rows for name, rows in sheets.items() if rows}


def _largest(sheets: dict[str, list[list[Any]]]) -> str:
    return max(sheets, key=lambda name: len(sheets[name]))


def _as_text(cell: Any, read: ReadOptions) -> str:
    """A cell as a CSV would have it."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ").removesuffix(" 00:00:00")
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) < 2**53
        return str(int(cell)) if whole else repr(cell).replace(".", read.decimal)
    return str(cell)
