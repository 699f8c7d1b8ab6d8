"""CSV files, strictly: exact header, exact width, UTF-8, every value as text. Types come later."""

import csv
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc_csv

from realloc.base.errors import LogError

BLOCK_BYTES = 16 << 20
START_BYTES = 1 << 20
UNNAMED = "(no name)"
READ_PROBLEMS = (pa.ArrowException, OSError, ValueError)
LINE_END = re.compile(rb"\r\n|\n|\r")
DATA_LIKE = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?|\d{4}-\d{2}-\d{2}.*", re.IGNORECASE)


def separator(path: Path) -> str:
    """Tab for .tsv, comma for everything else."""
    return "\t" if ".tsv" in path.name.lower() else ","


def read_columns(path: Path) -> pa.Schema:
    """The header's names, all of them text."""
    line = _header_line(path)
    try:
        names = next(csv.reader([line], delimiter=separator(path), strict=True), [])
    except csv.Error as problem:
        raise LogError(
            f"Expected a plain header line in {path}, but it cannot be parsed ({problem})."
        ) from problem
    other = next((sign for sign in ";\t|" if sign in names[0]), None)
    if len(names) == 1 and other and separator(path) not in names[0]:
        raise LogError(
            f"Expected columns separated by {separator(path)!r} in {path}, but the header has "
            f"{other!r} instead. Write the file again with commas (or name it .tsv for tabs)."
        )
    names = [name.strip() for name in names]
    data_like = [name for name in names if DATA_LIKE.fullmatch(name)]
    if len(names) > 1 and len(data_like) > len(names) / 2:
        raise LogError(
            f"Expected a header in the first line of {path}, but it looks like data. "
            "Add the column names."
        )
    return pa.schema([(name or UNNAMED, pa.string()) for name in names])


def _header_line(path: Path) -> str:
    start = _read_start(path)
    if not start.strip():
        raise LogError(f"Expected a header line in {path}, but the file is empty.")
    if b"\x00" in start[:4096] or start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise LogError(
            f"Expected UTF-8 text in {path}, but it looks like UTF-16 or a binary file. "
            "Save it as UTF-8."
        )
    line = LINE_END.split(start.removeprefix(b"\xef\xbb\xbf"), maxsplit=1)[0]
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise LogError(
            f"Expected UTF-8 text in {path}, but the header is in another encoding. "
            "Save it as UTF-8."
        ) from problem
    if not text.strip():
        raise LogError(
            f"Expected a header in the first line of {path}, but that line is blank."
        )
    return text


def batches(path: Path, header: list[str], names: list[str]) -> Iterator[pa.RecordBatch]:
    """The named columns as text, batch by batch; a row that is wider or narrower is refused."""
    start = _read_start(path)
    rows = LINE_END.split(start, maxsplit=1)[1:]
    if len(start) < START_BYTES and not b"".join(rows).strip(b"\r\n"):
        return  # Arrow refuses to open a file without rows
    read = pc_csv.ReadOptions(
        use_threads=False, block_size=BLOCK_BYTES, column_names=header, skip_rows=1
    )
    parse = pc_csv.ParseOptions(delimiter=separator(path), newlines_in_values=False)
    convert = pc_csv.ConvertOptions(
        column_types=dict.fromkeys(header, pa.string()),
        include_columns=names,
        null_values=[],
        strings_can_be_null=False,
    )
    with _opened(path) as stream:
        yield from pc_csv.open_csv(stream, read, parse, convert)


def check_text(path: Path) -> None:
    """One pass over the raw text: refuse NULs, open quotes, and text after a closing quote.

    Arrow's parser reads on to the next quote in another line, and glues `"1"2` to 12: rows would
    vanish silently.
    """
    number = 0
    rest = b""
    for block in _blocks(path):
        if b"\x00" in block:
            raise LogError(
                f"Expected UTF-8 text in {path}, but it holds a NUL byte. Save it as UTF-8 text."
            )
        lines = LINE_END.split(rest + block)
        rest = lines.pop()
        _check_quotes(path, lines, number)
        number += len(lines)
    _check_quotes(path, [rest], number)


def _check_quotes(path: Path, lines: list[bytes], before: int) -> None:
    for number, line in enumerate(lines, before + 1):
        if b'"' in line:
            try:
                next(
                    csv.reader(
                        [line.decode("utf-8")], delimiter=separator(path), strict=True
                    )
                )
            except UnicodeDecodeError as problem:
                raise LogError(_explain(path, problem)) from problem
            except csv.Error as problem:
                raise LogError(
                    f"Expected quotes around whole values in line {number} of {path}, but one is "
                    "left open or has text after it. Values may not hold line breaks; write a "
                    "quote inside a value twice."
                ) from problem


def _blocks(path: Path) -> Iterator[bytes]:
    with _opened(path) as stream:
        while block := stream.read(BLOCK_BYTES):
            # A block must not end between \r and \n, or one line end would count as two.
            yield block if not block.endswith(b"\r") else block + stream.read(1)


@contextmanager
def _opened(path: Path) -> Generator[pa.NativeFile]:
    """The bytes of a file; what goes wrong while they are read is said in a sentence."""
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            yield stream
    except READ_PROBLEMS as problem:
        raise LogError(_explain(path, problem)) from problem


def _read_start(path: Path) -> bytes:
    with _opened(path) as stream:
        return stream.read(START_BYTES)


def may_be_cut(path: Path) -> bool:
    """Whether the last line has no line end, as in a file that was cut off while being written."""
    if path.name.lower().endswith((".gz", ".zst", ".bz2")) or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) not in b"\n\r"


def _explain(path: Path, problem: Exception) -> str:
    text = " ".join(str(problem).split())
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", text)
    if ragged:
        line, expected, got = ragged.groups()
        place = f"line {line} of {path}" if line else str(path)
        return (
            f"Expected {expected} fields as in the header, got {got} in {place}. A value with a "
            "comma or line break needs quotes; a missing or extra field would shift every column, "
            "so nothing was read."
        )
    if isinstance(problem, UnicodeEncodeError):
        return f"Expected a file name in UTF-8, got {str(path)!r}. Rename the file."
    if "UTF8" in text or "utf-8" in text.lower():
        return (
            f"Expected UTF-8 text in {path}, but some bytes are in another encoding. "
            "Save it as UTF-8."
        )
    if "straddling" in text:
        return (
            f"Expected shorter lines in {path}, but one is over {BLOCK_BYTES >> 20} MiB. "
            "Is a quote left open?"
        )
    return f"Expected a CSV at {path}, but it cannot be read ({text[:160]})."
