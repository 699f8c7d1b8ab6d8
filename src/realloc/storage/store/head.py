"""HEAD names the current version: `<number> <SHA-256 of its record> <CRC-32>` and a newline.

It is the one name in a store that changes.
"""

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from realloc.base import disk
from realloc.base.artifact import read_plain
from realloc.base.errors import ArtifactError, StoreError

HEAD = "HEAD"
LINE = re.compile(r"([1-9]\d{0,7}) ([0-9a-f]{64}) [0-9a-f]{8}\n")
LONGEST = 1000  # bytes; a line has fewer


@dataclass(frozen=True)
class Head:
    """Which version is current."""

    number: int
    digest: str

    def line(self) -> bytes:
        """The content of the file."""
        text = f"{self.number} {self.digest}"
        return f"{text} {zlib.crc32(text.encode()):08x}\n".encode()


def read_head(root: Path) -> Head | None:
    """Read the pointer of a store; None where nothing was committed yet."""
    path = root / HEAD
    try:
        content = read_plain(path, 0, LONGEST)
    except ArtifactError as problem:
        if isinstance(problem.__cause__, FileNotFoundError):
            return None
        raise StoreError(
            f"{problem} Or name the version to go back to: `realloc rollback --to N`."
        ) from problem
    match = LINE.fullmatch(content.decode("latin-1"))
    head = Head(int(match[1]), match[2]) if match else None
    # Compared as bytes: other spellings of the same number are changes as well.
    if head is None or head.line() != content:
        raise StoreError(
            f"Expected a version, its digest and their checksum in {str(path)!r}, "
            "but the file was changed. "
            "Name the version to go back to: `realloc rollback --to N`."
        )
    return head


def write_head(root: Path, head: Head) -> None:
    """Make a version the current one; once this returns, it stays so after a power loss."""
    disk.replace_file(root / HEAD, head.line())
