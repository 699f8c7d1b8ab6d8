"""Logged actions that support is judged by: a bounded memory, balanced by window, with the ids of its rows."""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realloc.logs import Logs


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

    @cached_property
    def labels(self) -> NDArray[np.str_]:
        """Unit and time of every action, e.g. `item7@2026-01-03`. Made once: a service asks for single rows."""
        days = self.time.astype("datetime64[D]")
        times = np.where(self.time == days, days.astype(str), self.time.astype("datetime64[s]").astype(str))
        return np.char.add(np.char.add(self.unit, "@"), times)

    @cached_property
    def used_by(self) -> tuple[NDArray[np.str_], NDArray[np.bool_]]:
        """All units in order (U,), and which channels each was ever seen to use (U, K)."""
        names, code = np.unique(self.unit, return_inverse=True)
        used = np.zeros((len(names), self.shares.shape[1]), dtype=bool)
        np.logical_or.at(used, code, self.shares > 0)
        return names, used

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
    from realloc.replay.buffer import lowest_ranks  # noqa: PLC0415  torch loads only where something is learned

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
