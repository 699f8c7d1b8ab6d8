"""The layer of disk operations replaced: one that writes down every operation, or stops at the
n-th.
"""

import contextlib
import os

from realloc.base import disk

NAMES = (
    "write_new_file",
    "make_folder",
    "rename",
    "link",
    "sync_folder",
    "sync_file",
    "remove_file",
    "remove_folder",
)


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
    """The operations, in order: ("create", path, bytes), ("sync_file", path), ("rename", from,
    to), …
    """
    operations = []

    def around(name, call, *arguments):
        call(*arguments)
        if name == "write_new_file":
            operations.append(("create", *arguments))
            operations.append(("sync_file", arguments[0]))
        elif name == "sync_file":  # what somebody else has written meanwhile
            operations.append(("create", arguments[0], arguments[0].read_bytes()))
            operations.append(("sync_file", arguments[0]))
        else:
            operations.append((name, *arguments))

    with replaced(around):
        yield operations


CALLS = ("open", "write", "fsync", "close", "mkdir", "rename", "link", "unlink", "rmdir")


class BreakingSystem:
    """`os` as the disk layer sees it, whose n-th call raises: before it is done, after, or
    having written half of it.
    """

    def __init__(self, n: int, problem: BaseException, after: bool, torn: bool):
        self.n, self.problem, self.after, self.torn = n, problem, after, torn
        self.count, self.hit = 0, None

    def __getattr__(self, name):
        real = getattr(os, name)
        return (
            (lambda *arguments: self.call(name, real, *arguments))
            if name in CALLS
            else real
        )

    def call(self, name, real, *arguments):
        self.count += 1
        if self.count != self.n:
            return real(*arguments)
        self.hit = name
        if self.after and name == "open":
            os.close(real(*arguments))
        elif self.after or name == "close":
            real(*arguments)
        elif self.torn and name == "write":
            real(arguments[0], arguments[1][: len(arguments[1]) // 2])
        raise self.problem


@contextlib.contextmanager
def stopping(n: int, problem: BaseException, after: bool = False, torn: bool = False):
    """The n-th call of the system that changes the disk raises; `hit` says which it was."""
    system = BreakingSystem(n, problem, after, torn)
    disk.os = system
    try:
        yield system
    finally:
        disk.os = os
