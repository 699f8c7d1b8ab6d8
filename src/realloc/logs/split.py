"""Splits that cannot leak: no unit on two sides, no day of the future in the past.

Units are ranked by a keyed hash of their id, so the split does not depend on the order of rows or files.
"""

import hashlib
from collections.abc import Sequence
from datetime import date, datetime

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.logs.table import Logs


def split_by_unit(
    logs: Logs, parts: Sequence[float], seed: int = 0, groups: str | None = None
) -> tuple[Logs, ...]:
    """Disjoint parts by unit, of the given sizes, e.g. (0.8, 0.2). `groups`: a category whose units stay together."""
    if (
        isinstance(parts, float | int)
        or len(parts) < 2
        or min(parts) <= 0
        or abs(sum(parts) - 1) > 1e-9
    ):
        raise ConfigError(
            f"Expected two or more positive parts that sum to 1, such as (0.8, 0.2), got {parts}."
        )
    codes, names = _blocks(logs, groups)
    if len(names) < len(parts):
        raise LogError(
            f"Expected at least {len(parts)} units for {len(parts)} parts, got {len(names)}."
        )
    rank = _ranks(names, seed)
    cuts = np.clip(np.rint(np.cumsum(parts)[:-1] * len(names)).astype(int), 1, None)
    cuts = _at_least_one_each(cuts, len(names))
    side = np.searchsorted(cuts, rank, side="right")[codes]
    return tuple(logs.take(side == part) for part in range(len(parts)))


def unit_folds(
    logs: Logs, folds: int, seed: int = 0, groups: str | None = None
) -> NDArray[np.int64]:
    """A fold number per row, the same for all rows of a unit; fold sizes differ by at most one unit."""
    codes, names = _blocks(logs, groups)
    if not 2 <= folds <= len(names):
        raise LogError(f"Expected 2 to {len(names)} folds for {len(names)} units, got {folds}.")
    return (_ranks(names, seed) % folds)[codes]


def split_by_time(logs: Logs, at: str | date | datetime, gap_days: int = 0) -> tuple[Logs, Logs]:
    """Rows before `at`, and rows from `at` + gap on. Rows in the gap belong to neither (late outcomes)."""
    _check_logs(logs)
    if gap_days < 0:
        raise ConfigError(f"Expected a gap of at least 0 days, got {gap_days}.")
    try:
        cut = np.datetime64(at, "us")
    except ValueError as problem:
        raise ConfigError(f"Expected a date such as 2026-01-31, got {at!r}.") from problem
    past, future = logs.times < cut, logs.times >= cut + np.timedelta64(gap_days, "D")
    if not past.any() or not future.any():
        span = f"{logs.times.min()} to {logs.times.max()}" if len(logs) else "nothing"
        raise LogError(f"Expected rows on both sides of {at}, but the log covers {span}.")
    return logs.take(past), logs.take(future)


def _blocks(logs: Logs, groups: str | None) -> tuple[NDArray[np.int64], list[str]]:
    """A block number per row and the blocks' names: units, or groups of units."""
    _check_logs(logs)
    column = logs.table[
        logs.schema.unit if groups is None else _category(logs, groups)
    ].combine_chunks()
    raw = column.indices.fill_null(-1).to_numpy()
    words = ["", *(str(value) for value in column.dictionary.to_pylist())]
    present, codes = np.unique(raw, return_inverse=True)
    names = [words[code + 1] for code in present]
    if groups is not None:
        owners = np.unique(np.stack([logs.unit_codes, codes], axis=1), axis=0)[:, 0]
        if len(np.unique(owners)) != len(owners):
            raise LogError(
                f"Expected every unit in one group of {groups!r}, but one is in several. A split would leak."
            )
    return codes, names


def _check_logs(logs: Logs) -> None:
    if not isinstance(logs, Logs):
        raise LogError(f"Expected logs (from `read_logs`), got {type(logs).__name__}.")


def _category(logs: Logs, groups: str) -> str:
    if groups not in logs.features or not hasattr(logs.table[groups].type, "value_type"):
        raise LogError(
            f"Expected `groups` to be a categorical feature of {list(logs.features)}, got {groups!r}."
        )
    return groups


def _ranks(names: list[str], seed: int) -> NDArray[np.int64]:
    key = f"split-{seed}".encode()
    digests = [hashlib.blake2b(name.encode(), key=key, digest_size=16).digest() for name in names]
    order = sorted(range(len(names)), key=digests.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return rank


def _at_least_one_each(cuts: NDArray[np.int64], units: int) -> NDArray[np.int64]:
    """Move cuts so that no part is empty."""
    for i in range(1, len(cuts)):
        cuts[i] = max(cuts[i], cuts[i - 1] + 1)
    for i in range(len(cuts) - 1, -1, -1):
        cuts[i] = min(cuts[i], units - (len(cuts) - i))
    return cuts
