"""Everything that changes a disk, one small function each, so that tests can record or break it."""

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path


def write_new_file(path: Path, content: bytes) -> None:
    """Write a file that was not there, down to the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o666)
    try:
        write_all(handle, content)
        # A failure is never tried again: the pages may be marked clean though they were lost.
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, content: bytes) -> None:
    """Write all bytes to an open file; the system may take only some of them at a time."""
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def beside(path: Path) -> Path:
    """The name under which a new `path` is written first: hidden, of no kind that others read."""
    return path.with_name(f".{path.name}.new")


def put_in_place(new: Path, path: Path) -> None:
    """Give what lies at `new` the name `path` in one step, so that it outlives a power loss."""
    rename(new, path)
    sync_folder(path.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step: readers see the old one or the new one, also after a power loss."""
    new = beside(path)
    if os.path.lexists(new):
        remove_file(new)  # what a stopped writer left
    write_new_file(new, content)
    put_in_place(new, path)


def create_file(path: Path, content: bytes) -> bool:
    """Write a file in one step unless it is there; of several writers at once one succeeds."""
    new = _beside_alone(path)
    try:
        write_new_file(new, content)
        link(new, path)
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            remove_file(new)
    sync_folder(path.parent)
    return True


def _beside_alone(path: Path) -> Path:
    """A name beside `path` that no other process uses."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")


def link(source: Path, target: Path) -> None:
    """Give a file one more name, which nothing has yet."""
    os.link(source, target)


def replace_shared_file(path: Path, content: bytes) -> None:
    """As `replace_file`, where several processes may do so at once: the last one counts."""
    new = _beside_alone(path)
    try:
        write_new_file(new, content)
        put_in_place(new, path)
    finally:
        with suppress(FileNotFoundError):
            remove_file(new)


def make_folder(path: Path) -> None:
    """Make one folder; its parent is there."""
    os.mkdir(path)


def rename(source: Path, target: Path) -> None:
    """Give another name in one step; a file at `target` is replaced."""
    os.rename(source, target)


def sync_file(path: Path) -> None:
    """Bring a file that was written elsewhere down to the disk."""
    _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Bring the names in a folder down to the disk."""
    if sys.platform != "win32":  # folders cannot be opened there
        _sync(path)


def remove_file(path: Path) -> None:
    """Remove one file or link."""
    os.unlink(path)


def remove_folder(path: Path) -> None:
    """Remove one empty folder."""
    os.rmdir(path)


def empty_folder(path: Path) -> None:
    """Remove everything in a folder; links are removed, never followed."""
    for place, folders, files in os.walk(path, topdown=False):
        for name in files:
            remove_file(Path(place, name))
        for name in folders:
            inside = Path(place, name)
            if inside.is_symlink():
                remove_file(inside)
            else:
                remove_folder(inside)


def describe(problem: OSError) -> str:
    """Say what went wrong and where, for a sentence: `No space left on device at 'store/tmp'`."""
    place = f" at {problem.filename!r}" if problem.filename else ""
    return f"{problem.strerror or problem}{place}"
