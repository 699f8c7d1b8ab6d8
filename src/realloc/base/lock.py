"""Locks between processes (filelock): advisory, and free again when their holder is killed."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from realloc.base.errors import StoreError


@contextmanager
def locked(path: Path, held: str) -> Generator[None]:
    """Hold the lock file at `path`, or raise StoreError(`held`) at once if somebody else does."""
    handle = _open(path, held)
    try:
        yield
    finally:
        _close(handle)


def _open(path: Path, held: str) -> int:
    if sys.platform == "win32":
        raise StoreError("Writing needs Linux, macOS or WSL, but this is Windows.")
    while True:
        handle = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666
        )
        if not lock_descriptor(handle, blocking=False):
            os.close(handle)
            raise StoreError(held)
        if os.fstat(handle).st_nlink:
            return handle
        # the holder before has removed the file: others would lock another one
        os.close(handle)


def _close(handle: int) -> None:
    with suppress(OSError):
        unlock_descriptor(handle)  # closing is not enough where a fork holds a copy
    os.close(handle)


def is_locked(path: Path) -> bool:
    """Whether another process holds the lock file at `path`; needs no right to write there."""
    if sys.platform == "win32":
        return False
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False  # nobody can hold what cannot be opened
    try:
        return not lock_descriptor(handle, blocking=False)
    finally:
        os.close(handle)


@contextmanager
def folder_locked(folder: Path) -> Generator[None]:
    """Wait for the lock of a folder; it leaves no file."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems lock no folders
            lock_descriptor(handle)
        yield
    finally:
        _close(handle)
