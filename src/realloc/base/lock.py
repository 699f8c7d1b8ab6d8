"""Locks between processes (filelock): advisory, and free again when their holder ends, however it ends."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout, lock_descriptor, unlock_descriptor

from realloc.base.errors import StoreError

WAIT_SECONDS = 0.1  # enough for the rare holder that has just removed the lock's file
POLL_SECONDS = 0.02


@contextmanager
def locked(path: Path, held: str) -> Generator[None]:
    """Hold the lock file at `path`; raise StoreError with the sentence `held` if somebody else does."""
    if sys.platform == "win32":
        raise StoreError("Writing needs Linux, macOS or WSL, but this is Windows.")
    lock = FileLock(path, timeout=WAIT_SECONDS, poll_interval=POLL_SECONDS, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout as problem:
        raise StoreError(held) from problem
    try:
        yield
    finally:
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether another process holds the lock file at `path`; needs no right to write there."""
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
            lock_descriptor(handle, poll_interval=POLL_SECONDS)
        yield
    finally:
        with suppress(OSError):
            unlock_descriptor(handle)  # closing is not enough where a fork holds a copy
        os.close(handle)
