"""Where a log comes from: Parquet or CSV files (paths, lists, globs, folders of partitions) or a frame.

Every source yields Arrow record batches with the columns' own types; a CSV yields text only, so that no type is ever
guessed by a parser. Nothing here looks at values, but for what would be lost on the way to Arrow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base.errors import LogError
from realloc.logs.reading import csvtext, partitions
from realloc.logs.reading.columns import is_text
from realloc.logs.reading.frames import to_arrow

BATCH_ROWS = 1 << 18
PARQUET_ENDINGS = (".parquet", ".pq", ".parq")
CSV_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".csv.bz2")


@dataclass(frozen=True)
class Piece:
    """A batch of rows and where it came from."""

    batch: pa.RecordBatch
    label: str  # ends in `row` or, for a CSV, `line`
    first: int  # number of its first row or line there

    def where(self, row: int) -> str:
        """The place of one of its rows, for a message (blank lines of a CSV do not count)."""
        return f"{self.label} {self.first + row}"


@dataclass(frozen=True)
class Source:
    """Columns with their types, the number of rows where it is known beforehand, and a way to read them in pieces."""

    columns: pa.Schema
    rows: int | None
    text: bool = False  # every column is text (CSV), types must be declared
    frame: pa.Table | None = None
    place: tuple[str, int] = (
        "the table, row",
        1,
    )  # what its rows are called in messages, and the number of the first
    files: tuple["File", ...] = ()
    cut: tuple[str, ...] = ()  # files that may have been cut off
    skipped: tuple[str, ...] = ()  # files of other kinds that lie beside them

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """The named columns in pieces of bounded size, in a stable order."""
        if self.frame is not None:
            label, first = self.place
            for batch in self.frame.select(list(names)).to_batches(max_chunksize=BATCH_ROWS):
                yield Piece(batch, label, first)
                first += batch.num_rows
        for file in self.files:
            first, kind = (2, "line") if file.text else (1, "row")
            for batch in file.batches(names):
                yield Piece(batch, f"{file.label} {kind}", first)
                first += batch.num_rows


@dataclass(frozen=True)
class File:
    """One file and the values that its folder names carry (`date=2026-01-01/…`)."""

    path: Path
    keys: tuple[tuple[str, str | None], ...] = ()

    @property
    def label(self) -> str:
        """Its path as the user would write it."""
        return str(self.path)

    @property
    def text(self) -> bool:
        """Whether it is a CSV."""
        return kind_of(self.path) == "csv"

    @cached_property
    def own_columns(self) -> pa.Schema:
        """The columns in the file itself."""
        own = csvtext.read_columns(self.path) if self.text else _parquet(self.path).schema_arrow
        _refuse_repeated(own.names, self.label)
        return own

    def columns(self) -> pa.Schema:
        """Its columns, those from folder names last."""
        names = [name for name, _ in self.keys if name not in self.own_columns.names]
        return pa.schema([*self.own_columns, *(pa.field(name, pa.string()) for name in names)])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns, batch by batch."""
        inside = [name for name in names if name in self.own_columns.names]
        for batch in (
            csvtext.batches(self.path, inside) if self.text else self._parquet_batches(inside)
        ):
            arrays = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
            for name, value in self.keys:
                if name in arrays:
                    partitions.check_key(self.label, name, value, arrays[name])
                elif name in names:
                    arrays[name] = pa.repeat(pa.scalar(value, pa.string()), batch.num_rows)
            yield pa.RecordBatch.from_arrays([arrays[name] for name in names], names=list(names))

    def _parquet_batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            reader = _parquet(self.path)
            yield from _gathered(reader.iter_batches(batch_size=BATCH_ROWS, columns=names))
        except (pa.ArrowException, OSError, ValueError) as problem:
            raise LogError(_broken(self.path)) from problem


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches (one a row group) put together, as each one costs a look-up table of all units."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= BATCH_ROWS:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def open_source(source: Any) -> Source:
    """Make sense of whatever the user handed in."""
    if isinstance(source, str | Path):
        return _from_files(*_find_files(source))
    if isinstance(source, list | tuple):
        if not source:
            raise LogError("Expected at least one path, got an empty list.")
        if not all(isinstance(item, str | Path) for item in source):
            raise LogError(
                "Expected a list of paths, got a list with something else in it. Join frames into one first."
            )
        found = [_find_files(item) for item in source]
        return _from_files(
            [file for files, _ in found for file in files],
            [name for _, names in found for name in names],
        )
    table = to_arrow(source)
    return Source(table.schema, table.num_rows, frame=table)


def kind_of(path: Path) -> str | None:
    """`parquet`, `csv` or None, by the name's ending."""
    name = path.name.lower()
    if name.endswith(PARQUET_ENDINGS):
        return "parquet"
    return "csv" if name.endswith(CSV_ENDINGS) else None


def _find_files(source: str | Path) -> tuple[list[File], list[str]]:
    """The log files at a path or pattern, and the names of other files that lie in the same folder."""
    text, path = str(source), Path(source)
    if not text:
        raise LogError("Expected a path, got an empty text.")
    if "://" in text or text.startswith(("s3:/", "gs:/", "http:/", "https:/")):
        raise LogError(
            f"Expected a path on this machine, got {text!r}. Copy the files here first, or hand in a frame."
        )
    try:
        folder, file = path.is_dir(), path.is_file()
        matches = (
            _glob(text) if not (folder or file) and any(sign in text for sign in "*?[") else []
        )
    except (OSError, ValueError, NotImplementedError) as problem:
        raise LogError(f"Expected a path that can be opened, got {text!r}.") from problem
    if folder:
        return _find_in_folder(path)
    if file:
        return [_known_kind(path)], []
    if not matches:
        raise LogError(
            f"Expected a Parquet or CSV file, folder or pattern, but nothing is at {text!r}."
        )
    found = [_find_files(match) for match in matches]
    return [file for files, _ in found for file in files], [
        name for _, names in found for name in names
    ]


def _glob(text: str) -> list[Path]:
    pattern = Path(text)
    base = Path(pattern.anchor) if pattern.is_absolute() else Path()
    return sorted(base.glob(str(pattern.relative_to(base))))


def _find_in_folder(folder: Path) -> tuple[list[File], list[str]]:
    """All log files below a folder; names that start with `_` or `.` are bookkeeping of other tools."""
    found: list[File] = []
    skipped: list[str] = []
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        if not path.is_file() or any(part.startswith(("_", ".")) for part in inner):
            continue
        if kind_of(path) is None:
            skipped.append(str(path))
        else:
            found.append(_known_kind(path))
    if not found:
        raise LogError(
            f"Expected .parquet or .csv files in the folder {str(folder)!r}, but there are none."
        )
    return found, skipped


def _known_kind(path: Path) -> File:
    if kind_of(path) is None:
        raise LogError(
            f"Expected a file that ends in .parquet, .csv, .csv.gz or .tsv, got {str(path)!r}."
        )
    return File(path, partitions.read_keys(path.parts[:-1]))


def _from_files(files: list[File], skipped: list[str]) -> Source:
    if len({file.text for file in files}) > 1:
        raise LogError(
            "Expected files of one kind, got Parquet and CSV together. Read one kind at a time."
        )
    first = files[0].columns()
    for file in files[1:]:
        _check_same_columns(files[0], first, file)
    text = files[0].text
    if not text:
        rows = sum(_parquet(file.path).metadata.num_rows for file in files)
        return Source(first, rows, files=tuple(files), skipped=tuple(skipped))
    for file in files:
        csvtext.check_text(file.path)
    cut = tuple(file.label for file in files if csvtext.may_be_cut(file.path))
    return Source(first, None, True, files=tuple(files), cut=cut, skipped=tuple(skipped))


def _check_same_columns(leader: File, first: pa.Schema, file: File) -> None:
    other = file.columns()
    gone = [name for name in first.names if name not in other.names]
    new = [name for name in other.names if name not in first.names]
    if gone or new:
        difference = f"has no column {gone[0]!r}" if gone else f"has the further column {new[0]!r}"
        raise LogError(
            f"Expected the columns of {leader.label} in every file, but {file.label} {difference}."
        )
    for field in first:
        kinds = {_family(field.type), _family(other.field(field.name).type)} - {"nothing"}
        if len(kinds) > 1:
            raise LogError(
                f"Expected one type per column, but {field.name!r} is {field.type} in {leader.label} and "
                f"{other.field(field.name).type} in {file.label}. Write both files with the same types."
            )


def _family(kind: pa.DataType) -> str:
    """Types that may stand for each other without changing what a value means."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if is_text(kind):
        return "text"
    if pa.types.is_null(kind):
        return "nothing"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_timestamp(kind):
        return "zoned time" if kind.tz else "time"
    return "time" if pa.types.is_date(kind) else str(kind)


def _refuse_repeated(names: Sequence[str], label: str) -> None:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise LogError(
            f"Expected every column once in {label}, but {twice!r} stands there twice. Rename one of them."
        )


def _parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise LogError(_broken(path)) from problem


def _broken(path: Path) -> str:
    return (
        f"Expected a whole Parquet file at {str(path)!r}, but it is cut off, damaged, or of another kind. "
        "Write or copy it again."
    )
