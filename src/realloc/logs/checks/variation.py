"""How much of the simplex a log explores: per channel, within units, from day to day, and its patterns of zeros."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base import simplex
from realloc.logs.table import Logs

Floats = NDArray[np.float64]
MOVED_POINT = 0.01  # a share of the budget that counts as a move


@dataclass(frozen=True, kw_only=True)
class ChannelVariation:
    """One channel: who uses it, how much of the budget it gets, and how far that varies."""

    channel: str
    rows_used: float  # part of the rows with a share above zero
    units_using: int
    mean_share: float
    p05: float  # 5th and 95th percentile of its share
    p95: float
    spread: float  # standard deviation over all rows
    spread_within: (
        float  # … within units: the part that a policy can learn from without comparing units
    )


@dataclass(frozen=True, kw_only=True)
class Variation:
    """The whole log."""

    rows: int
    units: int
    periods: int
    first: str
    last: str
    budget: float
    channels: tuple[ChannelVariation, ...]
    zero_cells: float  # part of share cells that are exactly zero
    rows_with_zero: float
    structural_zeros: float  # part of zero cells in channels that the unit never uses
    patterns: tuple[tuple[str, int], ...]  # most frequent sets of active channels, with their rows
    pattern_count: int
    within_variance: float  # part of the total variance of shares that is within units
    move_median: (
        float  # share of the budget that changes hands from one period to the next, within a unit
    )
    move_p90: float
    moved_rows: float  # part of those steps that move at least one point of the budget

    @property
    def sentence(self) -> str:
        """The log in one line."""
        return (
            f"{count(self.rows, 'row')} · {count(self.units, 'unit')} · {count(self.periods, 'period')} "
            f"({self.first} to {self.last}) · budget {self.budget:,.0f}"
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def count(number: int, word: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def measure(logs: Logs) -> Variation:
    """Measure a log; memory stays a few columns above the log itself."""
    shares, codes, times = logs.shares, logs.unit_codes, logs.times
    within, used = _by_unit(shares, codes)
    patterns, counts = _patterns(shares)
    zeros = shares == 0
    never = used == 0  # (units, K)
    rows_per_unit = np.bincount(codes, minlength=len(used))
    structural = float((never * rows_per_unit[:, None]).sum() / max(zeros.sum(), 1))
    moves = _moves(shares)[np.diff(codes) == 0]
    total_variance = sum(float(shares[:, k].var()) for k in range(shares.shape[1]))
    ordered = np.sort(times)
    return Variation(
        rows=len(logs),
        units=logs.unit_count,
        periods=int(np.count_nonzero(np.diff(ordered)) + 1),
        first=str(ordered[0].astype("datetime64[s]")).removesuffix("T00:00:00"),
        last=str(ordered[-1].astype("datetime64[s]")).removesuffix("T00:00:00"),
        budget=float(logs.budget.sum()),
        channels=tuple(
            _channel(name, shares[:, k], used[:, k], within[k])
            for k, name in enumerate(logs.schema.channels)
        ),
        zero_cells=float(zeros.mean()),
        rows_with_zero=float(zeros.any(axis=1).mean()),
        structural_zeros=structural,
        patterns=_named(patterns, counts, logs.schema.channels),
        pattern_count=len(patterns),
        within_variance=float(within.sum() / total_variance) if total_variance > 0 else 0.0,
        move_median=float(np.median(moves)) if len(moves) else 0.0,
        move_p90=float(np.quantile(moves, 0.9)) if len(moves) else 0.0,
        moved_rows=float((moves >= MOVED_POINT).mean()) if len(moves) else 0.0,
    )


def _moves(shares: Floats) -> Floats:
    """Total variation from each row to the next, a channel at a time to spare memory."""
    moves = np.zeros(max(len(shares) - 1, 0))
    for k in range(shares.shape[1]):
        moves += np.abs(np.diff(shares[:, k])) / 2
    return moves


def _by_unit(shares: Floats, codes: NDArray[np.int32]) -> tuple[Floats, NDArray[np.int64]]:
    """Variance within units per channel (K,), and in how many of its rows each unit uses each channel (units, K)."""
    counts = np.bincount(codes)
    within = np.zeros(shares.shape[1])
    used = np.zeros((len(counts), shares.shape[1]), dtype=np.int64)
    for k in range(shares.shape[1]):
        column = shares[:, k]
        mean = np.bincount(codes, weights=column) / np.maximum(counts, 1)
        within[k] = np.mean(np.square(column - mean[codes]))
        used[:, k] = np.bincount(codes, weights=column > 0)
    return within, used


def _patterns(shares: Floats) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """The distinct sets of active channels, most frequent first."""
    active = np.packbits(simplex.active_pattern(shares), axis=1)
    width = active.shape[1]
    keys = (
        np.ascontiguousarray(active).view([("", active.dtype)] * width).ravel()
        if width > 1
        else active.ravel()
    )
    kinds, counts = np.unique(keys, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    bits = np.unpackbits(kinds[order].view(np.uint8).reshape(-1, width), axis=1)[
        :, : shares.shape[1]
    ]
    return bits.astype(bool), counts[order]


def _named(
    patterns: NDArray[np.bool_], counts: NDArray[np.int64], channels: tuple[str, ...]
) -> tuple[tuple[str, int], ...]:
    return tuple(
        (_pattern_name([name for name, on in zip(channels, pattern, strict=True) if on]), int(rows))
        for pattern, rows in zip(patterns[:5], counts[:5], strict=True)
    )


def _pattern_name(active: list[str]) -> str:
    more = f" + {len(active) - 6} more" if len(active) > 6 else ""
    return " + ".join(active[:6]) + more


def _channel(name: str, share: Floats, used: NDArray[np.int64], within: float) -> ChannelVariation:
    low, high = np.quantile(share, [0.05, 0.95])
    return ChannelVariation(
        channel=name,
        rows_used=float((share > 0).mean()),
        units_using=int((used > 0).sum()),
        mean_share=float(share.mean()),
        p05=float(low),
        p95=float(high),
        spread=float(share.std()),
        spread_within=float(np.sqrt(within)),
    )
