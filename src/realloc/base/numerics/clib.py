"""C libraries compiled with the package (hatch_build.py), called with ctypes.

If there was no compiler, or the library was made of other source than lies beside it, there is
none, and numpy does the work. Of the libraries for wider registers the widest that this processor
has is opened. Calls release the interpreter's lock, so two threads may decide at once.
"""

import ctypes
import struct
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

LEVELS = ("", "v3", "v4")  # of x86-64, by the number that `realloc_level` gives


class Library:
    """The functions compiled from the sources of one folder."""

    def __init__(self, handle: ctypes.CDLL) -> None:
        self._handle = handle

    def call(self, name: str, *given: "Table | NDArray[Any] | int") -> None:
        """Call a function with the addresses of tables and arrays, and with whole numbers."""
        function = getattr(self._handle, name)
        function.restype = ctypes.c_int
        numbers = [value if isinstance(value, int) else _address(value) for value in given]
        code = function(*map(ctypes.c_int64, numbers))
        if code == 1:
            raise MemoryError(f"no memory for {name}")
        if code:
            raise ValueError(f"{name} refused the sizes of what it was given")


def open_library(folder: Path) -> Library | None:
    """Open the library of a folder of sources; None where there is none of these very ones."""
    try:
        plain = _open(folder, "")
        plain.realloc_level.restype = ctypes.c_int
        level = LEVELS[plain.realloc_level()]
    except (OSError, AttributeError, IndexError, ValueError):
        return None
    try:
        return Library(_open(folder, level))
    except (OSError, AttributeError, ValueError):
        return Library(plain)


def _open(folder: Path, level: str) -> ctypes.CDLL:
    handle = ctypes.CDLL(str(library_of(folder, level)))
    handle.realloc_source.restype = ctypes.c_char_p
    if handle.realloc_source() != digest_of(folder).encode():
        raise ValueError("the library was made of other source")
    return handle


def digest_of(folder: Path) -> str:
    """Of the sources: by this a library is known again."""
    files = sorted(folder.glob("*.[ch]"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def library_of(folder: Path, level: str = "") -> Path:
    """Where hatch_build.py puts it."""
    return folder / f"lib{folder.parent.name}{level and '-'}{level}.so"


class Table:
    """A struct of C: whole numbers, floats and pointers, eight bytes each, in order.

    A pointer leads to an array, to another table, or to several of the same kind in a row.
    """

    def __init__(self, **fields: "Field") -> None:
        self._alive = fields  # as long as C may read the arrays
        values = [_plain(value) for value in fields.values()]
        kinds = ["d" if type(value) is float else "q" for value in values]
        self.bytes = ctypes.create_string_buffer(struct.pack("=" + "".join(kinds), *values))


class Tables:
    """Structs of one kind in a row."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._alive = tables
        joined = b"".join(table.bytes.raw[:-1] for table in tables)
        self.bytes = ctypes.create_string_buffer(joined)


Field = int | float | NDArray[Any] | Table | Tables | None


def _plain(value: Field) -> int | float:
    """The value itself, or where an array lies."""
    if isinstance(value, (int, float)):  # a union costs four times as much to ask
        return value
    return 0 if value is None else _address(value)


def _address(given: "Table | Tables | NDArray[Any]") -> int:
    if isinstance(given, (Table, Tables)):
        return ctypes.addressof(given.bytes)
    if not given.flags.c_contiguous:
        raise ValueError("expected an array that lies in one piece")
    return int(given.__array_interface__["data"][0])
