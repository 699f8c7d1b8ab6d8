"""CSV files, strictly: exact header, exact width, UTF-8, every value as text. Types are declared elsewhere."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc_csv

from realloc.base.errors import LogError

BLOCK_BYTES = 16 << 20
UNNAMED = "(no name)"
READ_PROBLEMS = (pa.ArrowException, OSError, ValueError)
DATA_LIKE = r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?|\d{4}-\d{2}-\d{2}.*"


def separator(path: Path) -> str:
    """Tab for .tsv, comma for everything else."""
    return "\t" if ".tsv" in path.name.lower() else ","


def read_columns(path: Path) -> pa.Schema:
    """The header's names, all of them text."""
    names = next(csv.reader([_first_line(path)], delimiter=separator(path), strict=True), [])
    if len(names) == 1 and separator(path) not in names[0]:
        other = next((sign for sign in ";\t|" if sign in names[0]), None)
        if other:
            raise LogError(
                f"Expected columns separated by {separator(path)!r} in {path}, but the header has {other!r} instead. "
                "Write the file again with commas (or name it .tsv for tabs)."
            )
    if (
        len(names) > 1
        and sum(bool(re.fullmatch(DATA_LIKE, name.strip())) for name in names) > len(names) / 2
    ):
        raise LogError(
            f"Expected a header in the first line of {path}, but it looks like data. Add the column names."
        )
    names = [name.strip() or UNNAMED for name in names]
    return pa.schema([(name, pa.string()) for name in names])


def batches(path: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
    """The named columns as text, batch by batch; a row with more or fewer fields than the header is refused."""
    header = read_columns(path).names
    convert = pc_csv.ConvertOptions(
        column_types=dict.fromkeys(header, pa.string()),
        include_columns=names,
        null_values=[],
        strings_can_be_null=False,
    )
    read = pc_csv.ReadOptions(
        use_threads=False, block_size=BLOCK_BYTES, column_names=header, skip_rows=1
    )
    parse = pc_csv.ParseOptions(delimiter=separator(path), newlines_in_values=False)
    if not _has_rows(path):
        return
    try:
        with _stream(path) as stream:
            yield from pc_csv.open_csv(
                stream, read_options=read, parse_options=parse, convert_options=convert
            )
    except READ_PROBLEMS as problem:
        raise LogError(_explain(path, problem)) from problem


def check_text(path: Path) -> None:
    """One pass over the raw text: refuse NULs, and quotes that are left open or have text after them.

    Arrow's parser reads on to the next quote in another line, and glues `"1"2` to 12: rows would vanish silently.
    """
    number, rest = 0, b""
    for block in _blocks(path):
        if b"\x00" in block:
            raise LogError(
                f"Expected UTF-8 text in {path}, but it holds a NUL byte. Save it as UTF-8 text."
            )
        lines = re.split(rb"\r\n|\n|\r", rest + block)
        rest = lines.pop()
        _check_quotes(path, lines, number)
        number += len(lines)
    _check_quotes(path, [rest], number)


def _check_quotes(path: Path, lines: list[bytes], before: int) -> None:
    for i, line in enumerate(lines):
        if b'"' in line:
            try:
                next(csv.reader([line.decode("utf-8")], delimiter=separator(path), strict=True))
            except UnicodeDecodeError as problem:
                raise LogError(_explain(path, problem)) from problem
            except csv.Error as problem:
                raise LogError(
                    f"Expected quotes around whole values in line {before + i + 1} of {path}, but one is left open or has "
                    "text after it. Values may not hold line breaks; write a quote inside a value twice."
                ) from problem


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with _stream(path) as stream:
            while block := stream.read(BLOCK_BYTES):
                # A block must not end between \r and \n, or one line end would count as two.
                yield block if not block.endswith(b"\r") else block + stream.read(1)
    except READ_PROBLEMS as problem:
        raise LogError(_explain(path, problem)) from problem


def _stream(path: Path) -> pa.NativeFile:
    return pa.input_stream(str(path), compression="detect")


def may_be_cut(path: Path) -> str | None:
    """The path, where the last line has no line end: the file may have been cut off while it was written."""
    if path.name.lower().endswith((".gz", ".zst", ".bz2")):
        return None
    with path.open("rb") as file:
        file.seek(0, 2)
        if file.tell() == 0:
            return None
        file.seek(-1, 2)
        return None if file.read(1) in (b"\n", b"\r") else str(path)


def _open(path: Path) -> bytes:
    try:
        with _stream(path) as stream:
            return stream.read(1 << 20)
    except READ_PROBLEMS as problem:
        raise LogError(_explain(path, problem)) from problem


def _first_line(path: Path) -> str:
    start = _open(path)
    if not start.strip():
        raise LogError(f"Expected a header line in {path}, but the file is empty.")
    if b"\x00" in start[:4096] or start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise LogError(
            f"Expected UTF-8 text in {path}, but it looks like UTF-16 or a binary file. Save it as UTF-8."
        )
    line = re.split(rb"\r\n|\n|\r", start.removeprefix(b"\xef\xbb\xbf"), maxsplit=1)[0]
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise LogError(
            f"Expected UTF-8 text in {path}, but the header is in another encoding. Save it as UTF-8."
        ) from problem
    if not text.strip():
        raise LogError(f"Expected a header in the first line of {path}, but that line is blank.")
    try:
        next(csv.reader([text], delimiter=separator(path), strict=True), [])
    except csv.Error as problem:
        raise LogError(
            f"Expected a plain header line in {path}, but it cannot be parsed ({problem})."
        ) from problem
    return text


def _has_rows(path: Path) -> bool:
    """Whether anything but blanks follows the header (Arrow refuses to open a file without rows)."""
    start = _open(path)
    parts = re.split(rb"\r\n|\n|\r", start, maxsplit=1)
    return len(start) == 1 << 20 or (len(parts) == 2 and bool(parts[1].strip(b"\r\n")))


def _explain(path: Path, problem: Exception) -> str:
    text = " ".join(str(problem).split())
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", text)
    if ragged:
        line, expected, got = ragged.groups()
        place = f"line {line} of {path}" if line else str(path)
        return (
            f"Expected {expected} fields as in the header, got {got} in {place}. A value with a comma or line break "
            "needs quotes; a missing or extra field would shift every column, so nothing was read."
        )
    if isinstance(problem, UnicodeEncodeError):
        return f"Expected a file name in UTF-8, got {str(path)!r}. Rename the file."
    if "UTF8" in text or "utf-8" in text.lower():
        return f"Expected UTF-8 text in {path}, but some bytes are in another encoding. Save it as UTF-8."
    if "straddling" in text:
        return f"Expected shorter lines in {path}, but one is over {BLOCK_BYTES >> 20} MiB. Is a quote left open?"
    return f"Expected a CSV at {path}, but it cannot be read ({text[:160]})."
