"""Stops at the n-th operation of the disk layer: coarser than single system calls, so that
whole runs can be swept.
"""

import contextlib
from pathlib import Path

from tests.faults import recording


@contextlib.contextmanager
def stopping(n: int, problem: BaseException, after: bool = False, torn: bool = False):
    """The n-th operation raises, before it is done, after, or having written half a file; `hit`
    says which it was.
    """
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

    names, recording.NAMES = recording.NAMES, (*recording.NAMES, "sync_file")
    try:
        with recording.replaced(around):
            yield seen
    finally:
        recording.NAMES = names
