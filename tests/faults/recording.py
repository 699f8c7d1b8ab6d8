"""The layer of disk operations replaced: one that writes down every operation, or stops at the n-th."""

import contextlib
from pathlib import Path

from realloc import disk

NAMES = ("write_new_file", "make_folder", "rename", "sync_folder", "remove_file", "remove_folder")


@contextlib.contextmanager
def replaced(around):
    """Call `around(name, call, *arguments)` instead of every operation of the disk."""
    real = {name: getattr(disk, name) for name in NAMES}

    def wrap(name):
        return lambda *arguments: around(name, real[name], *arguments)

    for name in NAMES:
        setattr(disk, name, wrap(name))
    try:
        yield
    finally:
        for name, call in real.items():
            setattr(disk, name, call)


@contextlib.contextmanager
def recorded():
    """The operations, in order: ("create", path, bytes), ("sync_file", path), ("rename", from, to), …"""
    operations = []

    def around(name, call, *arguments):
        call(*arguments)
        if name == "write_new_file":
            operations.append(("create", *arguments))
            operations.append(("sync_file", arguments[0]))
        else:
            operations.append((name, *arguments))

    with replaced(around):
        yield operations


@contextlib.contextmanager
def stopping(n: int, problem: BaseException, after: bool = False, torn: bool = False):
    """The n-th operation raises, before it is done, after, or having written half a file; `hit` says which it was."""
    seen = {"count": 0, "hit": None}

    def around(name, call, *arguments):
        seen["count"] += 1
        if seen["count"] != n:
            return call(*arguments)
        seen["hit"] = name
        if after:
            call(*arguments)
        elif torn and name == "write_new_file":
            Path(arguments[0]).write_bytes(arguments[1][: len(arguments[1]) // 2])
        raise problem

    with replaced(around):
        yield seen
