"""Splits that cannot leak: no unit on two sides, no day of the future in the past.

Units are ranked by a keyed hash of their id, so the split does not depend on the order of rows.
"""

import hashlib
from collections.abc import Sequence
from datetime import date, datetime

import numpy as np

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Integers
from realloc.logs.table import Logs

# What models are cross-fitted on: so many units, or fewer (at least so many) whose histories are
# cut into so many blocks of at least so many rows.
LEAST_UNITS = 10
LEAST_LONG = 5
BLOCKS = 30
BLOCK_ROWS = 30


def split_by_unit(
    logs: Logs, parts: Sequence[float], seed: int = 0, groups: str | None = None
) -> tuple[Logs, ...]:
    """Disjoint parts by unit, of the given sizes, e.g. (0.8, 0.2).

    `groups` is a categorical feature whose units stay together.
    """
    several = not isinstance(parts, float | int) and len(parts) > 1
    if not several or min(parts) <= 0 or abs(sum(parts) - 1) > 1e-9:
        raise ConfigError(
            f"Expected two or more positive parts that sum to 1, such as (0.8, 0.2), got {parts}."
        )
    codes, names = _blocks(logs, groups)
    if len(names) < len(parts):
        raise LogError(
            f"Expected at least {len(parts)} units for {len(parts)} parts, got {len(names)}."
        )
    cuts = np.rint(np.cumsum(parts)[:-1] * len(names)).astype(int)
    # No part may be empty: push each cut past the one before it, then back from the end.
    place = np.arange(len(cuts))
    cuts = np.maximum.accumulate(np.maximum(cuts, 1) - place) + place
    cuts = np.minimum(cuts, len(names) - len(cuts) + place)
    side = np.searchsorted(cuts, _ranks(names, seed), side="right")[codes]
    return tuple(logs.take(side == part) for part in range(len(parts)))


def unit_folds(
    logs: Logs, folds: int, seed: int = 0, groups: str | None = None
) -> Integers:
    """A fold number per row, the same for a unit's rows; folds differ by at most one unit."""
    codes, names = _blocks(logs, groups)
    if not 2 <= folds <= len(names):
        raise LogError(
            f"Expected 2 to {len(names)} folds for {len(names)} units, got {folds}."
        )
    return (_ranks(names, seed) % folds)[codes]


def split_by_time(
    logs: Logs, at: str | date | datetime, gap_days: int = 0
) -> tuple[Logs, Logs]:
    """Rows before `at`, and rows from `at` + gap on; the gap leaves out late outcomes."""
    require_logs(logs)
    if gap_days < 0:
        raise ConfigError(f"Expected a gap of at least 0 days, got {gap_days}.")
    try:
        cut = np.datetime64(at, "us")
    except ValueError as problem:
        raise ConfigError(f"Expected a date such as 2026-01-31, got {at!r}.") from problem
    past = logs.times < cut
    future = logs.times >= cut + np.timedelta64(gap_days, "D")
    if not past.any() or not future.any():
        span = f"{logs.times.min()} to {logs.times.max()}" if len(logs) else "nothing"
        raise LogError(f"Expected rows on both sides of {at}, but the log covers {span}.")
    return logs.take(past), logs.take(future)


def cut_blocks(logs: Logs) -> Integers:
    """A block number per row: every unit's history in up to BLOCKS / units equal parts, none below
    BLOCK_ROWS if it can be.
    """
    blocks = np.zeros(len(logs), np.int64)
    first = 0
    for unit in np.unique(logs.unit_codes):
        rows = np.flatnonzero(logs.unit_codes == unit)
        rows = rows[np.argsort(logs.times[rows], kind="stable")]
        parts = max(1, min(-(-BLOCKS // logs.unit_count), len(rows) // BLOCK_ROWS))
        blocks[rows] = first + np.arange(len(rows)) * parts // len(rows)
        first += parts
    return blocks


def _blocks(logs: Logs, groups: str | None) -> tuple[Integers, list[str]]:
    """A block number per row and the blocks' names: units, or groups of units."""
    require_logs(logs)
    if groups is not None and groups not in (logs.pinned_schema.categorical or ()):
        raise LogError(
            f"Expected `groups` to be a categorical feature of {list(logs.features)}, "
            f"got {groups!r}."
        )
    column = logs.table[groups or logs.schema.unit].combine_chunks()
    present, codes = np.unique(column.indices.fill_null(-1).to_numpy(), return_inverse=True)
    words = [*map(str, column.dictionary.to_pylist()), ""]  # the last one for −1, missing
    if groups is not None:
        pairs = np.unique(np.stack([logs.unit_codes, codes], axis=1), axis=0)
        if len(pairs) != logs.unit_count:
            raise LogError(
                f"Expected every unit in one group of {groups!r}, but one is in several. "
                "A split would leak."
            )
    return codes, [words[code] for code in present]


def require_logs(logs: Logs) -> None:
    """Refuse what is no log, such as a frame."""
    if not isinstance(logs, Logs):
        raise LogError(f"Expected logs (from `read_logs`), got {type(logs).__name__}.")


def _ranks(names: list[str], seed: int) -> Integers:
    key = f"split-{seed}".encode()
    hashes = [hashlib.blake2b(name.encode(), key=key, digest_size=16) for name in names]
    digests = [made.digest() for made in hashes]
    order = sorted(range(len(names)), key=digests.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return rank
