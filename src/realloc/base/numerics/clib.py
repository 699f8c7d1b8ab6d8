"""C libraries compiled with the package (hatch_build.py), called with ctypes.

If there was no compiler, or the library was made of other source than lies beside it, there is
none, and numpy does the work. Calls release the interpreter's lock, so two threads may decide at
once.
"""

import ctypes
import hashlib
import struct
from pathlib import Path
from typing import Any

from numpy.typing import NDArray


class Library:
    """The functions compiled from one source."""

    def __init__(self, handle: ctypes.CDLL) -> None:
        self._handle = handle

    def call(self, name: str, *given: "Table | NDArray[Any] | int") -> None:
        """Call a function with the addresses of tables and arrays, and with whole numbers."""
        function = getattr(self._handle, name)
        function.restype = ctypes.c_int
        numbers = [value if isinstance(value, int) else _address(value) for value in given]
        code = function(*map(ctypes.c_int64, numbers))
        if code:  # the only failure
            raise MemoryError(f"no memory for {name}")


def open_library(source: Path) -> Library | None:
    """Open the library beside a source; None where there is none of this very source."""
    try:
        handle = ctypes.CDLL(str(library_of(source)))
        handle.realloc_source.restype = ctypes.c_char_p
        if (
            handle.realloc_source()
            != hashlib.sha256(source.read_bytes()).hexdigest().encode()
        ):
            return None
    except (OSError, AttributeError):
        return None
    return Library(handle)


def library_of(source: Path) -> Path:
    """Where hatch_build.py puts it."""
    return source.with_name(f"lib{source.stem}.so")


Field = int | float | NDArray[Any] | None


class Table:
    """A struct of C: whole numbers, floats and pointers to arrays, eight bytes each, in order."""

    def __init__(self, **fields: Field) -> None:
        self._alive = fields  # as long as C may read the arrays
        values = [_plain(value) for value in fields.values()]
        kinds = ("d" if isinstance(value, float) else "q" for value in values)
        packed = struct.pack("=" + "".join(kinds), *values)
        self.bytes = ctypes.create_string_buffer(packed)


def _plain(value: Field) -> int | float:
    """The value itself, or where an array lies."""
    if value is None:
        return 0
    return value if isinstance(value, int | float) else _address(value)


def _address(given: "Table | NDArray[Any]") -> int:
    if isinstance(given, Table):
        return ctypes.addressof(given.bytes)
    if not given.flags.c_contiguous:
        raise ValueError("expected an array that lies in one piece")
    return int(given.__array_interface__["data"][0])
