"""Parts in C beside the Python that they stand in for: compiled with the package (hatch_build.py), asked with ctypes.

Where there was no compiler, or where the library is of other source than lies beside it, there is none, and numpy does the work.
Calls release the interpreter's lock, so that two threads may decide at once.
"""

import ctypes
import hashlib
import struct
from pathlib import Path
from typing import Any

from numpy.typing import NDArray


class Library:
    """What was compiled of one source."""

    def __init__(self, handle: ctypes.CDLL) -> None:
        self._handle = handle

    def call(self, name: str, *given: "Table | NDArray[Any] | int") -> None:
        """Tables and arrays by their address, whole numbers as they are; what it returns says whether there was memory."""
        function = getattr(self._handle, name)
        function.restype = ctypes.c_int
        code = function(
            *(ctypes.c_int64(one if isinstance(one, int) else _address(one)) for one in given)
        )
        if code:
            raise MemoryError(f"no memory for {name}")


def open_library(source: Path) -> Library | None:
    """The library beside a source; None where there is none of this very source."""
    try:
        handle = ctypes.CDLL(str(library_of(source)))
        handle.realloc_source.restype = ctypes.c_char_p
        if handle.realloc_source() != hashlib.sha256(source.read_bytes()).hexdigest().encode():
            return None
    except (OSError, AttributeError):
        return None
    return Library(handle)


def library_of(source: Path) -> Path:
    """Where hatch_build.py puts it."""
    return source.with_name(f"lib{source.stem}.so")


class Table:
    """A struct of C: whole numbers, floats and arrays in its order, each of eight bytes, with the arrays kept alive."""

    def __init__(self, **fields: "int | float | NDArray[Any] | None") -> None:
        self._kept = fields
        self.bytes = ctypes.create_string_buffer(
            b"".join(_packed(value) for value in fields.values())
        )


def _packed(value: "int | float | NDArray[Any] | None") -> bytes:
    if isinstance(value, float):
        return struct.pack("=d", value)
    return struct.pack(
        "=q", 0 if value is None else value if isinstance(value, int) else _address(value)
    )


def _address(given: "Table | NDArray[Any]") -> int:
    if isinstance(given, Table):
        return ctypes.addressof(given.bytes)
    if not given.flags.c_contiguous:
        raise ValueError("expected an array that lies in one piece")
    return int(given.__array_interface__["data"][0])
