"""Logged actions that support is judged by.

A bounded memory, balanced by window, with the ids of its rows.

A row that repeats its unit's last shares is no action: where most days hold on, they would say that
moves hardly happen, and the region of 95 % of the days would forbid a fifth of the moves that were
made.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Integers, Mask
from realloc.learn.row_arrays import RowArrays
from realloc.learn.scaling import Floats32
from realloc.logs import Logs

FEWEST_MOVED = 200  # in a first window with fewer, every row counts


@dataclass(frozen=True)
class Logged(RowArrays):
    """States (n, d), shares (n, K), unit and time of n logged actions, their window and rank."""

    x: Floats32
    shares: Floats
    unit: NDArray[np.str_]
    time: NDArray[np.datetime64]
    window: Integers
    rank: Floats

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def labels(self) -> NDArray[np.str_]:
        """Unit and time of every action, e.g. `item7@2026-01-03`.

        Made once: a service asks for single rows.
        """
        days = self.time.astype("datetime64[D]")
        times = np.where(
            self.time == days,
            days.astype(str),
            self.time.astype("datetime64[s]").astype(str),
        )
        return np.char.add(np.char.add(self.unit, "@"), times)

    @cached_property
    def used_by(self) -> tuple[NDArray[np.str_], Mask]:
        """All units in order (U,), and which channels each was ever seen to use (U, K)."""
        names, code = np.unique(self.unit, return_inverse=True)
        used = np.zeros((len(names), self.shares.shape[1]), dtype=bool)
        np.logical_or.at(used, code, self.shares > 0)
        return names, used


def remember_logged(
    former: Logged | None, logs: Logs, x: Floats32, window: int, capacity: int, seed: int
) -> Logged:
    """The memory with the actions of one more window, never more than `capacity` rows."""
    from realloc.learn.memory.buffer import lowest_ranks

    rank = np.random.default_rng(seed).random(len(logs))
    names = np.asarray(
        logs.units.cast("string").to_numpy(zero_copy_only=False), dtype=np.str_
    )
    moved = np.flatnonzero(_has_moved(former, logs, names))
    if former is None and len(moved) < FEWEST_MOVED:
        moved = np.arange(len(logs))
    rows = np.sort(moved[np.argsort(rank[moved], kind="stable")[:capacity]])
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


def _has_moved(former: Logged | None, logs: Logs, names: NDArray[np.str_]) -> Mask:
    """Rows (n,) with other shares than their unit's row before, in the window or in memory.

    A unit's very first row has moved.
    """
    order = np.lexsort((logs.times, logs.unit_codes))
    units = logs.unit_codes[order]
    shares = np.asarray(logs.shares)[order]
    first = np.append(True, units[1:] != units[:-1])
    before = np.roll(shares, 1, axis=0)
    before[first] = np.nan if former is None else _last_shares(former, names[units[first]])
    found = np.empty(len(logs), dtype=bool)
    found[order] = (shares != before).any(axis=1)
    return found


def _last_shares(former: Logged, names: NDArray[np.str_]) -> Floats:
    """What memory knows of the units' last shares, (m, K); NaN where it knows nothing."""
    known, code = np.unique(former.unit, return_inverse=True)
    latest = np.zeros(len(known), dtype=np.intp)
    order = np.argsort(former.time, kind="stable")
    latest[code[order]] = order  # the last one to be written stays
    place = np.searchsorted(known, names).clip(max=len(known) - 1)
    return np.where((known[place] == names)[:, None], former.shares[latest[place]], np.nan)
