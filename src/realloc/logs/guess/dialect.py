"""How the text of a source seems to be written: encoding, separators, currency sign."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from realloc.logs.guess.sample import MOSTLY
from realloc.logs.reading import columns, csvtext, excel
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.numerals import STYLES, find_style, plain_numbers
from realloc.logs.reading.options import ReadOptions
from realloc.logs.reading.source import Source, find_files, is_excel

FEW_CELLS = 200  # that show whether a column may hold numbers


def guess_files(source: Any, given: ReadOptions) -> ReadOptions:
    """What has to be known to open files: encoding and delimiter, or the sheet."""
    if isinstance(source, Source):
        return given
    files = find_files(source)
    if not files or files[0].path.suffix in (".parquet", ".pq"):
        return given
    path = files[0].path
    if is_excel(path):
        return given if given.sheet else replace(given, sheet=excel.find_sheet(path))
    return csvtext.find_layout(path, given)


def guess_numbers(
    source: Source, table: pa.Table, read: ReadOptions
) -> tuple[ReadOptions, str | None]:
    """How numbers are written, and a cell that may be meant otherwise."""
    if not source.text or any(is_excel(file.path) for file in source.files):
        return read, None
    semicolon = read.delimiter == ";"
    cells: list[pa.Array] = []
    unusual = semicolon
    for name in table.column_names:
        column = pc.unique(
            pc.utf8_trim_whitespace(columns.decoded(table[name].combine_chunks()))
        )
        column = column.filter(pc.invert(columns.is_missing(column)))
        if len(column) and _holds_numbers(column):
            cells.append(column)
            unusual |= not _mostly_read(column, read)
    if not unusual or not cells:
        return read, None
    style = find_style(cells, european=semicolon)
    doubtful = style.doubtful
    if semicolon and style.read.decimal == "." and not doubtful:
        grouped = [cell for cell in map(_grouped_cell, cells) if cell]
        doubtful = grouped[0] if grouped else None
    return replace(read, **{**style.read.changed, **read.changed}), doubtful


def _grouped_cell(column: pa.Array) -> str | None:
    """A cell such as 1.234 of a column whose points all stand before three digits."""
    pointed = column.filter(pc.match_substring(column, "."))
    grouped = pc.match_substring_regex(pointed, r"^[1-9]\d{0,2}(\.\d{3})+$")
    return pointed[0].as_py() if len(pointed) and pc.all(grouped).as_py() else None


def _holds_numbers(column: pa.Array) -> bool:
    """Whether most cells are numbers in some style; `007` is an id."""
    start = column.slice(0, FEW_CELLS)
    if pc.any(pc.match_substring_regex(start, r"^[+-]?0\d")).as_py():
        return False
    sign = find_style([start], european=False).read.currency_sign
    styles = [ReadOptions(decimal=d, thousands=t, currency_sign=sign) for d, t in STYLES]
    return any(_mostly_read(start, style) for style in styles)


def _mostly_read(column: pa.Array, read: ReadOptions) -> bool:
    return float(np.mean(np.asarray(plain_numbers(column, read).is_valid()))) >= MOSTLY


def example(source: Source, table: pa.Table, read: ReadOptions) -> str:
    """The first row as it is written and as it is read, where the two differ."""
    shown: list[str] = []
    for name in table.column_names:
        cell = table[name].combine_chunks().slice(0, 1)
        if not source.text or not columns.is_text(cell.type):
            continue
        written = str(cell[0].as_py()).strip()
        number = columns.to_numbers(cell, name, True, read=read).values[0]
        time = columns.to_times(cell, name, read.date_format).values[0]
        if time != columns.NO_TIME:
            meant = str(np.datetime64(int(time), "us").astype("datetime64[s]"))
            meant = meant.removesuffix("T00:00:00")
        else:
            meant = f"{number:.15g}" if np.isfinite(number) else written
        shown.append(
            f"{name} {written} = {meant}" if meant != written else f"{name} {written}"
        )
    return ", ".join(shown)
