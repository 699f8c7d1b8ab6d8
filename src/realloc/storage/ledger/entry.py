"""One entry of the decision log: who decided what from which inputs, and the digests of the files that hold the rows.

Entries form a chain: each names the digest of the one before, so none can be changed, taken out or put in between unnoticed.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from realloc.base.errors import LedgerError

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
    """What is written down about some decisions that were made together."""

    number: int
    previous: str | None  # digest of the entry before; None: the first
    run: str
    kind: str  # batch or service
    made: str  # UTC
    version: int | None  # of the store; None: frozen, so that no model was asked
    model: str | None  # SHA-256 of the model's manifest
    segments: tuple[Segment, ...]
    rows: int
    schema: dict[str, Any]  # which columns of `inputs` are what
    settings: dict[
        str, Any
    ]  # of the decision: config tables, pools, whether rows were decided together
    source: dict[str, Any] = field(
        default_factory=dict[str, Any]
    )  # files that were read, where they went, their digests
    format: int = FORMAT

    def pack(self) -> bytes:
        """As it stands in its file: JSON with its own digest at the end."""
        body = asdict(self)
        content = _line(body | {"digest": _digest(body)})
        if len(content) > LONGEST:  # nobody could read it, nor add to the log after it
            raise LedgerError(
                f"Expected at most {LONGEST:,} bytes in an entry of the decision log, got {len(content):,}."
            )
        return content

    @property
    def digest(self) -> str:
        """What the next entry names."""
        return _digest(asdict(self))


def read_entry(folder: Path) -> Entry:
    """Read the entry of a folder; refused if a byte has changed."""
    path = folder / ENTRY
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST)
    except OSError as problem:
        raise LedgerError(
            f"Expected to read {str(path)!r}, but it failed: {problem.strerror}."
        ) from problem
    try:
        table: dict[str, Any] = json.loads(content)
        digest = table.pop("digest")
        told: dict[str, Any] = {
            **table,
            "segments": tuple(Segment(**segment) for segment in table["segments"]),
        }
        found = Entry(**told)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise LedgerError(
            f"Expected an entry of the decision log in {str(path)!r}, but it was changed."
        ) from problem
    if _digest(table) != digest or content != _line(table | {"digest": digest}):
        raise LedgerError(
            f"Expected the digest of what it says in {str(path)!r}, got another: it was changed."
        )
    if found.format != FORMAT:
        raise LedgerError(
            f"Expected format {FORMAT} in {str(path)!r}, got {found.format}. Upgrade realloc."
        )
    return found


def sha256_file(path: Path) -> str:
    """Of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _line(table: dict[str, Any]) -> bytes:
    return json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(_line(json.loads(_line(body)))).hexdigest()
