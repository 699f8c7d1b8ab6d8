"""One entry of the decision log: who decided what, by which rules, and digests of its files.

Entries form a chain: each names the digest of the one before, so none can be changed, removed or
inserted unnoticed.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from realloc.base.errors import LedgerError
from realloc.base.strict_json import parse_object

ENTRY = "entry.json"
FORMAT = 1
LONGEST = 1 << 24  # bytes of an entry


@dataclass(frozen=True)
class Segment:
    """A Parquet file of rows."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The record of some decisions that were made together."""

    # Filled in when it is added; the digest is of the entry before, None: the first.
    number: int = 0
    previous: str | None = None
    run: str
    kind: str  # batch or service
    made: str  # UTC
    version: int | None  # of the store; None: frozen, so that no model was asked
    model: str | None  # SHA-256 of the model's manifest
    segments: tuple[Segment, ...] = ()
    rows: int = 0
    schema: dict[str, Any]  # which columns of `inputs` are what
    # Of the decision: config tables, pools, whether a rule looked at all rows.
    settings: dict[str, Any]
    # Files that were read, where their answers went, digests, and which searches decided.
    source: dict[str, Any] = field(default_factory=dict[str, Any])
    format: int = FORMAT

    def pack(self) -> bytes:
        """The content of its file: JSON with its own digest at the end."""
        content = _line(asdict(self) | {"digest": self.digest})
        if len(content) > LONGEST:  # nobody could read it, nor add to the log after it
            raise LedgerError(
                f"Expected at most {LONGEST:,} bytes in an entry of the decision log, "
                f"got {len(content):,}."
            )
        return content

    @property
    def digest(self) -> str:
        """The SHA-256 that the next entry names."""
        return _digest(asdict(self))


def read_entry(folder: Path) -> Entry:
    """Read the entry of a folder; refused if a byte has changed."""
    path = folder / ENTRY
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST)
    except OSError as problem:
        raise LedgerError(f"Cannot read {str(path)!r}: {problem.strerror}.") from problem
    try:
        table = parse_object(content)
        digest = table.pop("digest")
        entry = parse_entry(table)
    except (ValueError, TypeError, KeyError) as problem:
        raise LedgerError(
            f"Expected an entry of the decision log in {str(path)!r}, but it was changed."
        ) from problem
    if _digest(table) != digest or content != _line(table | {"digest": digest}):
        raise LedgerError(
            f"Expected the digest of its content in {str(path)!r}, got another: it was changed."
        )
    if entry.format != FORMAT:
        raise LedgerError(
            f"Expected format {FORMAT} in {str(path)!r}, got {entry.format}. Upgrade realloc."
        )
    return entry


def parse_entry(table: dict[str, Any]) -> Entry:
    """Make an entry of plain values."""
    values = dict(table)
    values["segments"] = tuple(Segment(**segment) for segment in values["segments"])
    return Entry(**values)


def sha256_file(path: Path) -> str:
    """The digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _line(table: dict[str, Any]) -> bytes:
    return json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(_line(json.loads(_line(body)))).hexdigest()
