"""Where a log comes from: Parquet, CSV or Excel files (paths, globs, folders) or a frame.

Every source yields Arrow record batches with the columns' own types; CSV and Excel yield text only,
so that no type is ever guessed by a parser. Folders named after a value (`date=2026-01-31/`) add it
as a column to every file below.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from realloc.base import plugins
from realloc.base.errors import LogError
from realloc.logs.reading import csvtext, excel
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.columns import is_number, is_text, is_time
from realloc.logs.reading.frames import refuse_repeated, to_arrow
from realloc.logs.reading.options import PLAIN, ReadOptions

BATCH_ROWS = 1 << 18
PARQUET_ENDINGS = (".parquet", ".pq", ".parq")
CSV_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".csv.bz2")
EXCEL_ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
REMOTE = ("s3:/", "gs:/", "http:/", "https:/")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write a missing value


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
    """Columns with their types, the number of rows if known, and a way to read them in pieces."""

    columns: pa.Schema
    rows: int | None
    text: bool = False  # every column is text (CSV), types must be declared
    frame: pa.Table | None = None
    place: tuple[str, int] = (
        "the table, row",
        1,
    )  # a frame's rows in messages, the first number
    files: tuple["File", ...] = ()
    cut: tuple[str, ...] = ()  # files that may have been cut off
    skipped: tuple[str, ...] = ()  # files of other kinds that lie beside them

    @property
    def read(self) -> ReadOptions:
        """How its text is written."""
        return self.files[0].read if self.files else PLAIN

    def pieces(self, names: Sequence[str], first: int = 0) -> Iterator[Piece]:
        """The named columns in pieces of bounded size, in a stable order, from row `first` on."""
        if self.frame is not None:
            frame = self.frame.select(list(names)).slice(first)
            label, number = self.place
            batches = frame.to_batches(max_chunksize=BATCH_ROWS)
            yield from _numbered(batches, label, number + first)
        for file in self.files:
            groups = file.groups_before(first)
            skipped = sum(file.group_rows[:groups])
            first -= skipped
            if groups and groups == len(file.group_rows):
                continue
            label = f"{file.path} {'line' if kind_of(file.path) == 'csv' else 'row'}"
            start = (2 if file.text else 1) + skipped
            for piece in _numbered(file.batches(names, groups), label, start):
                dropped = min(first, piece.batch.num_rows)
                first -= dropped
                yield Piece(piece.batch.slice(dropped), label, piece.first + dropped)


def _numbered(batches: Iterable[pa.RecordBatch], label: str, first: int) -> Iterator[Piece]:
    for batch in batches:
        yield Piece(batch, label, first)
        first += batch.num_rows


@dataclass(frozen=True)
class File:
    """One file; its folders' names may carry values (`date=2026-01-01/…`)."""

    path: Path
    read: ReadOptions = PLAIN

    @property
    def text(self) -> bool:
        """Whether all its values are text."""
        return kind_of(self.path) != "parquet"

    @cached_property
    def sheet(self) -> pa.Table | None:
        """Its cells as text, if it is an Excel file."""
        return excel.read_sheet(self.path, self.read) if is_excel(self.path) else None

    @cached_property
    def keys(self) -> list[tuple[str, str | None]]:
        """Names and values from folder names; folders without `=` say nothing.

        >>> File(Path("logs/shop=a%20b/date=2026-01-31/part.parquet")).keys
        [('shop', 'a b'), ('date', '2026-01-31')]
        """
        pairs = [part.split("=", 1) for part in self.path.parts[:-1] if "=" in part]
        return [
            (unquote(name), None if value == NO_VALUE else unquote(value))
            for name, value in pairs
        ]

    @cached_property
    def own_columns(self) -> pa.Schema:
        """The columns in the file itself."""
        if self.sheet is not None:
            own = self.sheet.schema
        elif self.text:
            own = csvtext.read_columns(self.path, self.read)
        else:
            own = _open_parquet(self.path).schema_arrow
        refuse_repeated(own.names, str(self.path))
        return own

    @cached_property
    def columns(self) -> pa.Schema:
        """Its columns, those from folder names last."""
        names = [name for name, _ in self.keys if name not in self.own_columns.names]
        return pa.schema(
            [*self.own_columns, *(pa.field(name, pa.string()) for name in names)]
        )

    @cached_property
    def group_rows(self) -> list[int]:
        """The number of rows of each row group; text has none."""
        if self.text:
            return []
        metadata = _open_parquet(self.path).metadata
        return [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]

    def groups_before(self, first: int) -> int:
        """How many row groups end before a row."""
        ends = accumulate(self.group_rows) if first else ()
        return sum(end <= first for end in ends)

    def batches(self, names: Sequence[str], groups: int = 0) -> Iterator[pa.RecordBatch]:
        """The named columns, batch by batch, without the first row groups."""
        own = self.own_columns.names
        inside = [name for name in names if name in own]
        if self.sheet is not None:
            batches = iter(self.sheet.select(inside).to_batches(BATCH_ROWS))
        elif self.text:
            batches = csvtext.batches(self.path, own, inside, self.read)
        else:
            batches = self._parquet(inside, groups)
        for batch in batches:
            arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name, value in self.keys:
                if name in arrays:
                    self._check_key(name, value, arrays[name])
                elif name in names:
                    arrays[name] = pa.repeat(pa.scalar(value, pa.string()), batch.num_rows)
            yield pa.RecordBatch.from_arrays(
                [arrays[name] for name in names], names=list(names)
            )

    def _parquet(self, names: list[str], groups: int) -> Iterator[pa.RecordBatch]:
        """Row groups joined into large batches, as each batch costs a look-up of all units."""
        waiting: list[pa.RecordBatch] = []
        try:
            file = _open_parquet(self.path)
            wanted = range(groups, file.num_row_groups) if groups else None
            for batch in file.iter_batches(BATCH_ROWS, row_groups=wanted, columns=names):
                waiting.append(batch)
                if sum(part.num_rows for part in waiting) >= BATCH_ROWS:
                    yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
                    waiting = []
            if waiting:
                yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
        except csvtext.READ_PROBLEMS as problem:
            raise LogError(_broken(self.path)) from problem

    def _check_key(self, name: str, value: str | None, column: pa.Array) -> None:
        """Refuse a file whose own column says something else than its folder."""
        text = column.cast(pa.string())
        day = pc.replace_substring_regex(text, r"[T ]00:00:00(\.0+)?$", "")
        same = pc.equal(pc.utf8_rtrim(day, " "), value or "")
        agrees = pc.is_null(text) if value is None else pc.fill_null(same, False)
        if not pc.all(agrees).as_py():
            raise LogError(
                f"Expected {name!r} to be {value!r} in {self.path}, as its folder says, but the "
                "file's own column says otherwise. Correct one of them."
            )


def open_source(source: Any, read: ReadOptions | None = None) -> Source:
    """Make sense of whatever the user handed in; `read` says how text files are written."""
    if isinstance(source, Source):
        return source
    source = _from_plugin(source)
    if not isinstance(source, str | Path | list | tuple):
        table = to_arrow(source)
        return Source(table.schema, table.num_rows, frame=table)
    skipped: list[str] = []
    found = find_files(source, skipped)
    files = [File(file.path, read) for file in found] if read else found
    if len({file.text for file in files}) > 1:
        raise LogError(
            "Expected files of one kind, got Parquet and text together. Read one kind at a time."
        )
    columns = files[0].columns
    for file in files[1:]:
        _check_same_columns(files[0], file)
    text = files[0].text
    rows = (
        None if text else sum(_open_parquet(file.path).metadata.num_rows for file in files)
    )
    lines = [file for file in files if kind_of(file.path) == "csv"]
    for file in lines:
        csvtext.check_text(file.path, file.read)
    cut = [str(file.path) for file in lines if csvtext.may_be_cut(file.path)]
    return Source(
        columns, rows, text, files=tuple(files), cut=tuple(cut), skipped=tuple(skipped)
    )


def _from_plugin(source: Any) -> Any:
    """For `name://…` what the plugin `name` of `realloc.sources` returns; all else as it is."""
    address = source[0] if isinstance(source, list | tuple) and len(source) == 1 else source
    if not isinstance(address, str) or "://" not in address:
        return source
    read = plugins.find_plugin(plugins.SOURCES, address.partition("://")[0])
    return source if read is None else read(address)


def find_files(source: Any, skipped: list[str] | None = None) -> list[File]:
    """The log files at paths; of other kinds in folders the names are added to `skipped`."""
    if isinstance(source, str | Path):
        source = [source]
    if not isinstance(source, list | tuple):
        return []
    if not source:
        raise LogError("Expected at least one path, got an empty list.")
    if not all(isinstance(item, str | Path) for item in source):
        raise LogError(
            "Expected a list of paths, got a list with something else in it. "
            "Join frames into one first."
        )
    aside = [] if skipped is None else skipped
    return [file for item in source for file in _find_files(item, aside)]


def kind_of(path: Path) -> str | None:
    """`parquet`, `csv` or None, by the name's ending."""
    name = path.name.lower()
    if name.endswith(PARQUET_ENDINGS):
        return "parquet"
    return "csv" if name.endswith(CSV_ENDINGS) else None


def is_excel(path: Path) -> bool:
    """Whether a name is that of a spreadsheet."""
    return path.name.lower().endswith(EXCEL_ENDINGS)


def _find_files(source: str | Path, skipped: list[str]) -> list[File]:
    """The log files at a path or pattern; other files in a folder are added to `skipped`."""
    text = str(source)
    path = Path(source)
    if not text:
        raise LogError("Expected a path, got an empty text.")
    if "://" in text or text.startswith(REMOTE):
        raise LogError(
            f"Expected a path on this machine, got {text!r}. "
            "Copy the files here first, hand in a frame, or install a package that offers "
            f"{text.partition(':')[0]!r} as an entry point of {plugins.SOURCES!r}."
        )
    try:
        is_folder = path.is_dir()
        is_file = path.is_file()
        pattern = not is_folder and not is_file and any(sign in text for sign in "*?[")
        matches = _glob(path) if pattern else []
    except (OSError, ValueError, NotImplementedError) as problem:
        raise LogError(f"Expected a path that can be opened, got {text!r}.") from problem
    if is_folder:
        return _find_in_folder(path, skipped)
    if is_file and not _is_log(path):
        raise LogError(
            f"Expected a file that ends in .parquet, .csv, .csv.gz, .tsv or .xlsx, got {text!r}."
        )
    if is_file:
        return [File(path)]
    if not matches:
        raise LogError(
            f"Expected a Parquet, CSV or Excel file, folder or pattern, but nothing is at {text!r}."
        )
    return [file for match in matches for file in _find_files(match, skipped)]


def _is_log(path: Path) -> bool:
    return kind_of(path) is not None or is_excel(path)


def _glob(pattern: Path) -> list[Path]:
    base = Path(pattern.anchor)
    return sorted(base.glob(str(pattern.relative_to(base))))


def _find_in_folder(folder: Path, skipped: list[str]) -> list[File]:
    """All log files below a folder; names that start with `_` or `.` belong to other tools."""
    files: list[File] = []
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        if not path.is_file() or any(part.startswith(("_", ".")) for part in inner):
            continue
        if not _is_log(path):
            skipped.append(str(path))
        else:
            files.append(File(path))
    if not files:
        raise LogError(
            f"Expected .parquet, .csv or .xlsx files in the folder {str(folder)!r}, "
            "but there are none."
        )
    return files


def _check_same_columns(leader: File, file: File) -> None:
    gone = [name for name in leader.columns.names if name not in file.columns.names]
    new = [name for name in file.columns.names if name not in leader.columns.names]
    if gone or new:
        difference = (
            f"has no column {gone[0]!r}" if gone else f"has the further column {new[0]!r}"
        )
        raise LogError(
            f"Expected the columns of {leader.path} in every file, but {file.path} {difference}."
        )
    for field in leader.columns:
        other = file.columns.field(field.name).type
        kinds = {_family(field.type), _family(other)} - {"nothing"}
        if len(kinds) > 1:
            raise LogError(
                f"Expected one type per column, but {field.name!r} is {field.type} in "
                f"{leader.path} and {other} in {file.path}. Write both files with the same types."
            )


def _family(kind: pa.DataType) -> str:
    """Types that may stand for each other without changing what a value means."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if is_text(kind):
        return "text"
    if pa.types.is_null(kind):
        return "nothing"
    if is_number(kind):
        return "number"
    if pa.types.is_timestamp(kind) and kind.tz:
        return "zoned time"
    return "time" if is_time(kind) else str(kind)


def _open_parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except csvtext.READ_PROBLEMS as problem:
        raise LogError(_broken(path)) from problem


def _broken(path: Path) -> str:
    return (
        f"Expected a whole Parquet file at {str(path)!r}, but it is cut off, damaged, or of "
        "another kind. Write or copy it again."
    )
