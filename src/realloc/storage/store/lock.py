"""One writer at a time: an advisory lock on the file LOCK that ends with the process, however it ends."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from realloc.base.errors import StoreError

LOCK = "LOCK"


@contextmanager
def locked(root: Path) -> Generator[None]:
    """Hold the lock of a store, or say at once that somebody else does."""
    if sys.platform == "win32":
        raise StoreError(
            "Expected a system with `flock` to write a store, got Windows. Use Linux, macOS or WSL."
        )
    import fcntl

    handle = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            raise StoreError(
                f"Expected to be the only writer of {str(root)!r}, but another process is writing. "
                "Wait until it is done; nothing was changed."
            ) from problem
        yield
    finally:
        os.close(handle)


def is_locked(root: Path) -> bool:
    """Whether somebody is writing now."""
    if sys.platform == "win32" or not (root / LOCK).exists():
        return False
    import fcntl

    try:
        handle = os.open(root / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False  # nobody can hold what cannot be opened
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
