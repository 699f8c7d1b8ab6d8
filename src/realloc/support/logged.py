"""Logged actions that support is judged by: a bounded memory, balanced by window, with the ids of its rows."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from realloc.logs import Logs
from realloc.replay.buffer import lowest_ranks


@dataclass(frozen=True)
class Logged:
    """States (n, d), shares (n, K), unit and time of n logged actions, their window and rank."""

    x: NDArray[np.float32]
    shares: NDArray[np.float64]
    unit: NDArray[np.str_]
    time: NDArray[np.datetime64]
    window: NDArray[np.int64]
    rank: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: NDArray[np.integer]) -> "Logged":
        """Some of the rows."""
        return Logged(*(getattr(self, spec.name)[rows] for spec in fields(self)))

    def join(self, other: "Logged") -> "Logged":
        """These rows and then the others."""
        return Logged(*(np.concatenate([getattr(self, spec.name), getattr(other, spec.name)]) for spec in fields(self)))


def remember_logged(
    former: Logged | None, logs: Logs, x: NDArray[np.float32], window: int, capacity: int, seed: int
) -> Logged:
    """The memory with one more window, never more than `capacity` rows."""
    rank = np.random.default_rng(seed).random(len(logs))
    rows = np.sort(np.argsort(rank, kind="stable")[:capacity])
    names = np.asarray(logs.units.cast("string").to_numpy(zero_copy_only=False), dtype=np.str_)
    fresh = Logged(
        x=x[rows],
        shares=np.array(logs.shares[rows]),
        unit=names[logs.unit_codes[rows]],
        time=logs.times[rows].astype("datetime64[us]"),
        window=np.full(len(rows), window),
        rank=rank[rows],
    )
    everything = fresh if former is None else former.join(fresh)
    return everything.take(lowest_ranks(everything.window, everything.rank, capacity))
