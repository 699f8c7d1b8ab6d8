"""Where named pieces of bytes lie: a folder of this machine.

A name is a path of parts, `work/00003.json`. A piece is there whole or not at all. `create` never
changes what is there, so of several writers of one name the first wins; `replace` is for what has
one writer, or for what was found damaged.
"""

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from realloc.base import disk


class Place(Protocol):
    """Named pieces of bytes."""

    def read(self, name: str) -> bytes:
        """The bytes; raises FileNotFoundError where there are none."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Write what was not there; False where it was, and then nothing is changed."""
        ...

    def replace(self, name: str, content: bytes) -> None:
        """Write, whatever was there."""
        ...

    def names(self, folder: str) -> list[str]:
        """The names of the pieces and folders in a folder, sorted; none where it is missing."""
        ...

    def remove(self, folder: str) -> None:
        """Remove a folder with everything in it, where it is there."""
        ...

    def describe(self, name: str) -> str:
        """The address of a piece, for messages."""
        ...


@dataclass(frozen=True)
class Folder:
    """A place on this machine."""

    path: Path

    def read(self, name: str) -> bytes:
        """The bytes; raises FileNotFoundError where there are none."""
        return (self.path / name).read_bytes()

    def create(self, name: str, content: bytes) -> bool:
        """Write what was not there; False where it was, and then nothing is changed."""
        return disk.create_file(self._make(name), content)

    def replace(self, name: str, content: bytes) -> None:
        """Write, whatever was there."""
        disk.replace_shared_file(self._make(name), content)

    def names(self, folder: str) -> list[str]:
        """The names of the pieces and folders in a folder, sorted; none where it is missing."""
        with suppress(FileNotFoundError):
            return sorted(os.listdir(self.path / folder))
        return []

    def remove(self, folder: str) -> None:
        """Remove a folder with everything in it, where it is there."""
        shutil.rmtree(self.path / folder, ignore_errors=True)

    def describe(self, name: str) -> str:
        """The address of a piece, for messages."""
        return str(self.path / name)

    def _make(self, name: str) -> Path:
        """The path of a piece, in a folder that is there."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
