"""A bounded memory of the teacher's answers, balanced by window.

Every row gets a uniform rank when it is labelled, and a window keeps its rows of lowest rank: at
any size they are a uniform sample of that window (a reservoir), and rows that left never come back.
Windows share the capacity evenly; what a small window does not need goes to the others.
"""

import numpy as np

from realloc.base.simplex import Floats, Integers, Rows
from realloc.learn.memory.labels import Labels


def remember(memory: Labels | None, fresh: Labels, capacity: int) -> Labels:
    """The memory after a round: never more than `capacity` rows."""
    everything = fresh if memory is None else memory.join(fresh)
    return everything.take(lowest_ranks(everything.window, everything.rank, capacity))


def may_stay(
    memory: Labels | None,
    capacity: int,
    rank: Floats,
) -> Integers:
    """The rows of a new window, of ranks (n,), among which `remember` will choose; the others need
    no labels.
    """
    former = np.zeros(0, np.int64)
    if memory is not None:
        former = np.unique(memory.window, return_counts=True)[1]
    quota = share_capacity(np.append(former, len(rank)), capacity)[-1]
    # As many as the largest window: then the others' quotas are what they were.
    most = max(quota, former.max(initial=0))
    return np.sort(np.argsort(rank, kind="stable")[:most])


def lowest_ranks(window: Rows, rank: Floats, capacity: int) -> Integers:
    """The rows that stay, in their order: of every window those of lowest rank."""
    numbers, counts = np.unique(window, return_counts=True)
    kept: list[Integers] = []
    for number, quota in zip(numbers, share_capacity(counts, capacity), strict=True):
        rows = np.flatnonzero(window == number)
        kept.append(rows[np.argsort(rank[rows], kind="stable")[:quota]])
    return np.sort(np.concatenate(kept))


def share_capacity(counts: Rows, capacity: int) -> Integers:
    """How many rows each window may keep: as even as possible, newest first where it does not
    divide.

    >>> share_capacity(np.array([10, 100, 100]), 90).tolist()
    [10, 40, 40]
    """
    quota = np.zeros(len(counts), dtype=np.int64)
    left = capacity
    for done, window in enumerate(np.argsort(counts, kind="stable").tolist()):
        quota[window] = min(counts[window], left // (len(counts) - done))
        left -= quota[window]
    for window in reversed(range(len(counts))):
        extra = min(left, int(counts[window] - quota[window]))
        quota[window] += extra
        left -= extra
    return quota
