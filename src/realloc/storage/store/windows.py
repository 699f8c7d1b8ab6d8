"""Windows by content: an id in any order of rows and files, and what may come next.

A window may be learned from if it does not end before the last one did, repeats no unit and time
that is remembered, leaves no gap longer than the longest inside any window so far, and does not end
after tomorrow.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from realloc.base.artifact import sha256
from realloc.base.errors import StoreError
from realloc.logs import Logs
from realloc.storage.ledger.fingerprint import fingerprint


@dataclass(frozen=True)
class WindowId:
    """A window: first and last time, number of rows, their SHA-256, longest gap between times."""

    first: str
    last: str
    rows: int
    digest: str
    gap_seconds: int

    def __post_init__(self) -> None:
        if not np.datetime64(self.first) <= np.datetime64(self.last):
            raise ValueError(f"the window's times are {self.first} and {self.last}")

    def __str__(self) -> str:
        return f"{self.first} to {self.last} ({self.rows:,} rows)"


def identify(logs: Logs) -> WindowId:
    """Make the id of a window."""
    if not len(logs):
        raise StoreError(
            "Expected a window with rows, got an empty one. Nothing was changed."
        )
    times = np.unique(logs.times)
    gaps = np.diff(times).astype("timedelta64[s]").astype(np.int64)
    return WindowId(
        first=str(times[0]),
        last=str(times[-1]),
        rows=len(logs),
        digest=_digest(logs),
        gap_seconds=int(gaps.max(initial=0)),
    )


def _digest(logs: Logs) -> str:
    """SHA-256 of the fingerprints of all rows over every column that is learned from."""
    fixed = {name for name in logs.schema.fixed_columns if name in logs.table.column_names}
    return sha256(b"".join(sorted(fingerprint(logs, fixed | set(logs.features)))))


def check_order(
    new: WindowId,
    known: tuple[WindowId, ...],
    now: datetime,
    allow_gap: bool,
    allow_overlap: bool,
) -> None:
    """Refuse a window from the future, one that ends before the last did, and one after a gap."""
    last = np.datetime64(new.last)
    if last >= np.datetime64((now + timedelta(days=2)).date().isoformat()):
        raise StoreError(
            f"Expected a window that ends by tomorrow, got one until {new.last} "
            f"while the clock says {now.date()}. "
            "Check the dates and the clock of this machine. Nothing was changed."
        )
    if not known:
        return
    latest = max(known, key=lambda window: np.datetime64(window.last))
    if last < np.datetime64(latest.last) and not allow_overlap:
        raise StoreError(
            f"Expected windows in the order of time, got {new} after one until {latest.last}. "
            "Apply it anyway with `--allow-overlap`, or `realloc rollback` first. "
            "Nothing was changed."
        )
    gap = int(
        (np.datetime64(new.first) - np.datetime64(latest.last)) / np.timedelta64(1, "s")
    )
    longest = max(window.gap_seconds for window in (*known, new))
    if longest and gap > longest and not allow_gap:
        raise StoreError(
            f"Expected the window after {latest.last}, got {new}: the gap of {gap / 86400:g} days "
            f"is longer than any inside a window so far ({longest / 86400:g}). "
            "Apply what is missing first, or use `--allow-gap`. Nothing was changed."
        )


def count_repeats(
    logs: Logs, units: NDArray[np.str_], times: NDArray[np.datetime64]
) -> int:
    """Count the remembered rows (their units and times) that are in the window, too."""
    names = logs.units.cast("string").to_pylist()
    code_of = {name: code for code, name in enumerate(names)}
    codes = np.array([code_of.get(str(unit), -1) for unit in units], dtype=np.int64)
    stamps, place = np.unique(logs.times.astype("datetime64[us]"), return_inverse=True)
    seen = times.astype("datetime64[us]")
    near = np.minimum(np.searchsorted(stamps, seen), len(stamps) - 1)
    known = (codes >= 0) & (stamps[near] == seen)
    keys = logs.unit_codes.astype(np.int64) * len(stamps) + place
    return int(np.isin(codes[known] * len(stamps) + near[known], keys).sum())
