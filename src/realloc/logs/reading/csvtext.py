"""CSV files, strictly: exact header, exact width, every value as text. Types come later."""

import codecs
import csv
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc_csv
from pyarrow.lib import transcoding_input_stream

from realloc.base.errors import LogError
from realloc.logs.reading.options import ReadOptions

BLOCK_BYTES = 16 << 20
START_BYTES = 1 << 20
UNNAMED = "(no name)"
DELIMITERS = ",;\t|"
READ_PROBLEMS = (pa.ArrowException, OSError, ValueError)
LINE_END = re.compile(rb"\r\n|\n|\r")
DATA_LIKE = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?|\d{4}-\d{2}-\d{2}.*", re.IGNORECASE)


def separator(path: Path, read: ReadOptions) -> str:
    """The one that was asked for; else tab for .tsv, comma for everything else."""
    return read.delimiter or ("\t" if ".tsv" in path.name.lower() else ",")


def read_columns(path: Path, read: ReadOptions) -> pa.Schema:
    """The header's names, all of them text."""
    line = read_header(path, read)
    delimiter = separator(path, read)
    try:
        names = next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error as problem:
        raise LogError(
            f"Expected a header in the first line of {path}, but a quote in it has no end, or is "
            f"followed by more text: {line.strip()[:60]}. Write the names without line breaks and "
            "quotes."
        ) from problem
    other = find_delimiter(line)
    if len(names) == 1 and other:
        raise LogError(
            f"Expected columns separated by {delimiter!r} in {path}, but the header has "
            f"{other!r} instead. {_ask_for(path)}"
        )
    names = [name.strip() for name in names]
    data_like = [name for name in names if DATA_LIKE.fullmatch(name)]
    if len(names) > 1 and len(data_like) > len(names) / 2:
        raise LogError(
            f"Expected a header in the first line of {path}, but it looks like data. "
            "Add the column names."
        )
    return pa.schema([(name or UNNAMED, pa.string()) for name in names])


def _ask_for(path: Path) -> str:
    """What to put where, so that the file can be read as it is."""
    keys = find_layout(path, ReadOptions()).to_toml()
    return (
        f"Put {keys} into [read] of the config (`realloc init {path}` finds out all that belongs "
        f"there), or read=realloc.ReadOptions({keys.replace(' = ', '=')}) in Python; or save the "
        "file as UTF-8 with commas."
    )


def find_layout(path: Path, given: ReadOptions) -> ReadOptions:
    """Encoding and delimiter by the file's first bytes, where they are not given and unusual."""
    if "encoding" not in given.changed:
        given = replace(given, encoding=find_encoding(path))
    header = read_header(path, given)
    usual = separator(path, given)
    found = find_delimiter(header)
    if given.delimiter or found is None or header.count(found) <= header.count(usual):
        return given
    return replace(given, delimiter=found)


def find_delimiter(header: str) -> str | None:
    """What separates the columns of a header line, by what is there most often outside quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    best = max(DELIMITERS, key=bare.count)
    return best if best in bare else None


def find_encoding(path: Path) -> str:
    """The encoding of a file by its first bytes: UTF-8, UTF-16, or what Windows writes else."""
    start = _read_start(path, ReadOptions())  # the bytes as they are
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if start[:400].count(b"\x00") > 0.3 * len(start[:400]):
        return "utf-16-le" if start[1:2] == b"\x00" else "utf-16-be"
    try:
        start[: start.rfind(b"\n") + 1 or None].decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def read_header(path: Path, read: ReadOptions) -> str:
    """The first line, which must hold the columns' names."""
    start = _read_start(path, read)
    if not start.strip():
        raise LogError(f"Expected a header line in {path}, but the file is empty.")
    if b"\x00" in start[:4096] or start.startswith((b"\xff\xfe", b"\xfe\xff")):
        known = find_encoding(path) in ("utf-8", read.encoding)
        advice = "Save it as UTF-8." if known else _ask_for(path)
        raise LogError(
            f"Expected UTF-8 text in {path}, but it looks like UTF-16 or a binary file. {advice}"
        )
    line = LINE_END.split(start.removeprefix(b"\xef\xbb\xbf"), maxsplit=1)[0]
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise LogError(
            f"Expected UTF-8 text in {path}, but the header is in another encoding. "
            f"{_ask_for(path)}"
        ) from problem
    if not text.strip():
        raise LogError(
            f"Expected a header in the first line of {path}, but that line is blank."
        )
    return text


def batches(
    path: Path, header: list[str], names: list[str], read: ReadOptions
) -> Iterator[pa.RecordBatch]:
    """The named columns as text, batch by batch; a row that is wider or narrower is refused."""
    start = _read_start(path, read)
    rows = LINE_END.split(start, maxsplit=1)[1:]
    if len(start) < START_BYTES and not b"".join(rows).strip(b"\r\n"):
        return  # Arrow refuses to open a file without rows
    blocks = pc_csv.ReadOptions(
        use_threads=False, block_size=BLOCK_BYTES, column_names=header, skip_rows=1
    )
    parse = pc_csv.ParseOptions(delimiter=separator(path, read), newlines_in_values=False)
    convert = pc_csv.ConvertOptions(
        column_types=dict.fromkeys(header, pa.string()),
        include_columns=names,
        null_values=[],
        strings_can_be_null=False,
    )
    with _opened(path, read) as stream:
        yield from pc_csv.open_csv(stream, blocks, parse, convert)


def check_text(path: Path, read: ReadOptions) -> None:
    """One pass over the raw text: refuse NULs, open quotes, and text after a closing quote.

    Arrow's parser reads on to the next quote in another line, and glues `"1"2` to 12: rows would
    vanish silently.
    """
    number = 0
    rest = b""
    for block in _blocks(path, read):
        if b"\x00" in block:
            raise LogError(
                f"Expected UTF-8 text in {path}, but it holds a NUL byte. Save it as UTF-8 text."
            )
        lines = LINE_END.split(rest + block)
        rest = lines.pop()
        _check_quotes(path, lines, number, read)
        number += len(lines)
    _check_quotes(path, [rest], number, read)


def _check_quotes(path: Path, lines: list[bytes], before: int, read: ReadOptions) -> None:
    delimiter = separator(path, read)
    for number, line in enumerate(lines, before + 1):
        if b'"' in line:
            try:
                next(csv.reader([line.decode("utf-8")], delimiter=delimiter, strict=True))
            except UnicodeDecodeError as problem:
                raise LogError(_explain(path, problem)) from problem
            except csv.Error as problem:
                raise LogError(
                    f"Expected quotes around whole values in line {number} of {path}, but one is "
                    "left open or has text after it. Values may not hold line breaks; write a "
                    "quote inside a value twice."
                ) from problem


def _blocks(path: Path, read: ReadOptions) -> Iterator[bytes]:
    with _opened(path, read) as stream:
        while block := stream.read(BLOCK_BYTES):
            # A block must not end between \r and \n, or one line end would count as two.
            yield block if not block.endswith(b"\r") else block + stream.read(1)


@contextmanager
def _opened(path: Path, read: ReadOptions) -> Generator[pa.NativeFile]:
    """The bytes of a file as UTF-8; what goes wrong while they are read is said in a sentence."""
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            if codecs.lookup(read.encoding).name == "utf-8":
                yield stream
            else:
                yield transcoding_input_stream(stream, read.encoding, "utf-8")
    except READ_PROBLEMS as problem:
        raise LogError(_explain(path, problem)) from problem


def _read_start(path: Path, read: ReadOptions) -> bytes:
    with _opened(path, read) as stream:
        return stream.read(START_BYTES)


def may_be_cut(path: Path) -> bool:
    """Whether the last line has no line end, as in a file that was cut off while being written."""
    if path.name.lower().endswith((".gz", ".zst", ".bz2")) or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        file.seek(-min(4, path.stat().st_size), 2)
        return file.read().rstrip(b"\x00")[-1:] not in (
            b"\n",
            b"\r",
        )  # UTF-16 ends in a NUL


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
    if isinstance(problem, UnicodeDecodeError) and problem.encoding != "utf-8":
        return (
            f"Expected text in {path} as `encoding` of [read] says, but its bytes are something "
            f'else. Put encoding = "{find_encoding(path)}" there.'
        )
    if isinstance(problem, UnicodeEncodeError):
        return f"Expected a file name in UTF-8, got {str(path)!r}. Rename the file."
    if "UTF8" in text or "utf-8" in text.lower():
        return (
            f"Expected UTF-8 text in {path}, but some bytes are in another encoding. "
            f"{_ask_for(path)}"
        )
    if "straddling" in text:
        return (
            f"Expected shorter lines in {path}, but one is over {BLOCK_BYTES >> 20} MiB. "
            "Is a quote left open?"
        )
    return f"Expected a CSV at {path}, but it cannot be read ({text[:160]})."
