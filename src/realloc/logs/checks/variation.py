"""How much of the simplex a log explores: per channel, within units, day to day, and its zeros."""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Integers, Mask, active_pattern
from realloc.logs.table import Floats, Logs

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
    spread_within: float  # … within units: can be learned from without comparing units


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
    patterns: tuple[
        tuple[str, int], ...
    ]  # most frequent sets of active channels, with their rows
    pattern_count: int
    within_variance: float  # part of the total variance of shares that is within units
    # Part of a unit's budget that changes hands from one period to the next.
    move_median: float
    move_p90: float
    moved_rows: float  # part of those steps that move at least one point of the budget

    @property
    def sentence(self) -> str:
        """The log in one line."""
        return (
            f"{count(self.rows, 'row')} · {count(self.units, 'unit')} · "
            f"{count(self.periods, 'period')} ({self.first} to {self.last}) · "
            f"budget {self.budget:,.0f}"
        )


def count(number: int, word: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def measure(logs: Logs) -> Variation:
    """Measure a log; memory stays a few columns above the log itself."""
    shares = logs.shares
    codes = logs.unit_codes
    zeros = shares == 0
    rows_per_unit = np.bincount(codes)
    channels: list[ChannelVariation] = []
    never_used = 0  # zero cells of channels that their unit never uses
    moves = np.zeros(len(logs) - 1)  # total variation from each row to the next
    for k, name in enumerate(logs.schema.channels):
        share = shares[:, k]
        used = np.bincount(codes, weights=share > 0)
        mean = np.bincount(codes, weights=share) / np.maximum(rows_per_unit, 1)
        deviation = share - mean[codes]
        p05, p95 = np.quantile(share, [0.05, 0.95])
        channel = ChannelVariation(
            channel=name,
            rows_used=float((share > 0).mean()),
            units_using=int((used > 0).sum()),
            mean_share=float(share.mean()),
            p05=float(p05),
            p95=float(p95),
            spread=float(share.std()),
            spread_within=float(np.sqrt(np.mean(np.square(deviation)))),
        )
        channels.append(channel)
        never_used += int(rows_per_unit[used == 0].sum())
        moves += np.abs(np.diff(share)) / 2
    moves = moves[logs.same_unit]
    if not len(moves):
        moves = np.zeros(1)
    variance = sum(channel.spread**2 for channel in channels)
    within = sum(channel.spread_within**2 for channel in channels)
    patterns, rows = _patterns(shares)
    times = np.unique(logs.times)
    return Variation(
        rows=len(logs),
        units=logs.unit_count,
        periods=len(times),
        first=str(times[0].astype("datetime64[s]")).removesuffix("T00:00:00"),
        last=str(times[-1].astype("datetime64[s]")).removesuffix("T00:00:00"),
        budget=float(logs.budget.sum()),
        channels=tuple(channels),
        zero_cells=float(zeros.mean()),
        rows_with_zero=float(zeros.any(axis=1).mean()),
        structural_zeros=never_used / max(int(zeros.sum()), 1),
        patterns=tuple(
            (_pattern_name(logs.schema.channels, pattern), int(number))
            for pattern, number in zip(patterns[:5], rows[:5], strict=True)
        ),
        pattern_count=len(patterns),
        within_variance=within / variance if variance > 0 else 0.0,
        move_median=float(np.median(moves)),
        move_p90=float(np.quantile(moves, 0.9)),
        moved_rows=float((moves >= MOVED_POINT).mean()),
    )


def _patterns(shares: Floats) -> tuple[Mask, Integers]:
    """The distinct sets of active channels with their rows, most frequent first."""
    packed = np.packbits(active_pattern(shares), axis=1)
    width = packed.shape[1]
    kinds, rows = np.unique(packed.view(f"S{width}"), return_counts=True)
    order = np.argsort(-rows, kind="stable")
    bits = kinds[order].view(np.uint8).reshape(-1, width)
    patterns = np.unpackbits(bits, axis=1, count=shares.shape[1])
    return patterns.astype(bool), rows[order]


def _pattern_name(channels: tuple[str, ...], pattern: Mask) -> str:
    active = [name for name, on in zip(channels, pattern, strict=True) if on]
    more = f" + {len(active) - 6} more" if len(active) > 6 else ""
    return " + ".join(active[:6]) + more
