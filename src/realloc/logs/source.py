"""Where a log comes from: Parquet or CSV files (paths, lists, globs, folders of partitions) or a frame.

Every source yields Arrow record batches with the columns' own types; a CSV yields text only, so that no type is ever
guessed by a parser. Nothing here looks at values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.parquet as pq

from realloc.errors import LogError
from realloc.logs import csvtext

BATCH_ROWS = 1 << 18
PARQUET_ENDINGS = (".parquet", ".pq", ".parq")
CSV_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".csv.bz2")


@dataclass(frozen=True)
class Piece:
    """A batch of rows and where it came from."""

    batch: pa.RecordBatch
    label: str
    first: int  # number of its first row in that file or frame, from 1

    def where(self, row: int) -> str:
        """The place of one of its rows, for a message."""
        return f"{self.label} row {self.first + row}"


@dataclass(frozen=True)
class Source:
    """Columns with their types, the number of rows where it is known beforehand, and a way to read them in pieces."""

    columns: pa.Schema
    rows: int | None
    text: bool = False  # every column is text (CSV), types must be declared
    frame: pa.Table | None = None
    files: tuple["File", ...] = ()
    warnings: tuple[str, ...] = field(default=())  # files that may have been cut off

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """The named columns in pieces of bounded size, in a stable order."""
        if self.frame is not None:
            first = 1
            for batch in self.frame.select(list(names)).to_batches(max_chunksize=BATCH_ROWS):
                yield Piece(batch, "the table,", first)
                first += batch.num_rows
        for file in self.files:
            first = 1
            for batch in file.batches(names):
                yield Piece(batch, file.label, first)
                first += batch.num_rows


@dataclass(frozen=True)
class File:
    """One file and the values that its folder names carry (`date=2026-01-01/…`)."""

    path: Path
    keys: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """Its path as the user would write it."""
        return str(self.path)

    @property
    def text(self) -> bool:
        """Whether it is a CSV."""
        return kind_of(self.path) == "csv"

    def columns(self) -> pa.Schema:
        """Its columns, those from folder names last."""
        own = csvtext.read_columns(self.path) if self.text else _parquet(self.path).schema_arrow
        _refuse_repeated(own.names, self.label)
        for name, _ in self.keys:
            if name in own.names:
                own = own.remove(own.get_field_index(name))
            own = own.append(pa.field(name, pa.string()))
        return own

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns, batch by batch."""
        keys = dict(self.keys)
        inside = [name for name in names if name not in keys]
        for batch in csvtext.batches(self.path, inside) if self.text else self._parquet_batches(inside):
            arrays = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
            for name, value in keys.items():
                arrays[name] = pa.repeat(pa.scalar(value), batch.num_rows)
            yield pa.RecordBatch.from_arrays([arrays[name] for name in names], names=list(names))

    def _parquet_batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            reader = _parquet(self.path)
            yield from _gathered(reader.iter_batches(batch_size=BATCH_ROWS, columns=names))
        except (pa.ArrowException, OSError, ValueError) as problem:
            raise LogError(_broken(self.path, problem)) from problem


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
        return _from_files(_find_files(Path(source)))
    if isinstance(source, list | tuple):
        if not source:
            raise LogError("Expected at least one path, got an empty list.")
        if not all(isinstance(item, str | Path) for item in source):
            raise LogError(
                "Expected a list of paths, got a list with something else in it. Join frames into one first."
            )
        return _from_files([file for item in source for file in _find_files(Path(item))])
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    return _from_frame(source)


def kind_of(path: Path) -> str | None:
    """`parquet`, `csv` or None, by the name's ending."""
    name = path.name.lower()
    if name.endswith(PARQUET_ENDINGS):
        return "parquet"
    return "csv" if name.endswith(CSV_ENDINGS) else None


def _find_files(path: Path) -> list[File]:
    text = str(path)
    if "://" in text or text.startswith(("s3:/", "gs:/", "http:/", "https:/")):
        raise LogError(f"Expected a path on this machine, got {text!r}. Copy the files here first, or hand in a frame.")
    try:
        if path.is_dir():
            return _find_in_folder(path)
        if path.is_file():
            return [_known_kind(path)]
        matches = _glob(text) if any(sign in text for sign in "*?[") else []
    except OSError as problem:
        raise LogError(
            f"Expected a file or folder at {text!r}, but it cannot be opened: {problem.strerror}."
        ) from problem
    except ValueError as problem:
        raise LogError(f"Expected a path, got {text!r}: {problem}.") from problem
    if not matches:
        raise LogError(f"Expected a Parquet or CSV file, folder or pattern, but nothing is at {text!r}.")
    return [file for match in matches for file in _find_files(match)]


def _glob(text: str) -> list[Path]:
    pattern = Path(text)
    base = Path(pattern.anchor) if pattern.is_absolute() else Path()
    return sorted(base.glob(str(pattern.relative_to(base))))


def _find_in_folder(folder: Path) -> list[File]:
    """All log files below a folder; names that start with `_` or `.` are bookkeeping of other tools."""
    found: list[File] = []
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        if path.is_dir() or kind_of(path) is None or any(part.startswith(("_", ".")) for part in inner):
            continue
        keys = [part.split("=", 1) for part in inner[:-1] if "=" in part]
        found.append(File(path, tuple((key, value) for key, value in keys)))
    if not found:
        raise LogError(f"Expected .parquet or .csv files in the folder {str(folder)!r}, but there are none.")
    return found


def _known_kind(path: Path) -> File:
    if kind_of(path) is None:
        raise LogError(f"Expected a file that ends in .parquet, .csv, .csv.gz or .tsv, got {str(path)!r}.")
    return File(path)


def _from_files(files: list[File]) -> Source:
    if len({file.text for file in files}) > 1:
        raise LogError("Expected files of one kind, got Parquet and CSV together. Read one kind at a time.")
    first = files[0].columns()
    for file in files[1:]:
        other = file.columns()
        gone = [name for name in first.names if name not in other.names]
        new = [name for name in other.names if name not in first.names]
        if gone or new:
            difference = f"has no column {gone[0]!r}" if gone else f"has the further column {new[0]!r}"
            raise LogError(f"Expected the columns of {files[0].label} in every file, but {file.label} {difference}.")
    text = files[0].text
    rows = None if text else sum(_parquet(file.path).metadata.num_rows for file in files)
    cut = [csvtext.may_be_cut(file.path) for file in files] if text else []
    return Source(first, rows, text, files=tuple(files), warnings=tuple(name for name in cut if name))


def _from_frame(source: Any) -> Source:
    try:
        frame = nw.from_native(source)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        _refuse_repeated(frame.columns, "the table")
        table = frame.to_arrow().select(frame.columns)  # pandas would add its index as a column
    except LogError:
        raise
    except TypeError as problem:
        if "Unsupported dataframe type" not in str(problem):
            raise LogError(_bad_frame(source, problem)) from problem
        raise LogError(
            f"Expected a path, a list of paths, or a pandas, polars or pyarrow table, got {type(source).__name__}."
        ) from problem
    except Exception as problem:  # frames can fail in as many ways as there are libraries
        raise LogError(_bad_frame(source, problem)) from problem
    if not all(isinstance(name, str) for name in table.column_names):
        raise LogError("Expected column names that are text, got others. Rename the columns first.")
    return Source(table.schema, table.num_rows, frame=table)


def _bad_frame(source: Any, problem: Exception) -> str:
    detail = " ".join(str(problem).split())[:200]
    return (
        f"Expected a table whose columns each hold one type and have their own name, but this "
        f"{type(source).__name__} cannot be converted: {detail}. Mixed columns are the usual cause."
    )


def _refuse_repeated(names: Sequence[Any], label: str) -> None:
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise LogError(
                f"Expected every column once in {label}, but {name!r} stands there twice. Rename one of them."
            )
        seen.add(name)


def _parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise LogError(_broken(path, problem)) from problem


def _broken(path: Path, problem: Exception) -> str:
    detail = " ".join(str(problem).split())[:160]
    return f"Expected a whole Parquet file at {str(path)!r}, but it cannot be read ({detail}). Write or copy it again."
