"""Lags: what each unit's earlier rows say. Only strictly earlier times count, so no row sees
itself, its day or later.

The encoder keeps each unit's last rows, because at decision time only today's rows are handed in.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Integers
from realloc.learn.features import number
from realloc.learn.features.memory import Memory, UnitHistory, look_back, nothing
from realloc.learn.features.number import Block, Scale
from realloc.logs import Logs
from realloc.logs.reading.columns import DAY_MICROS

MOST_LAGS = 28  # four weeks of days
SCALES = ("outcome", "budget_change", "days_since")


@dataclass(frozen=True, kw_only=True)
class Lags:
    """How far to look back, the scales of what is seen there, and what is remembered."""

    count: int
    outcome: Scale
    shares: tuple[Scale, ...]
    budget_change: Scale
    days_since: Scale
    memory: Memory

    def remember(self, logs: Logs) -> "Lags":
        """The same with a further window of rows in memory."""
        return replace(self, memory=self.memory.remember(logs, self.count))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """As plain values, and the arrays of the memory."""
        table = {
            "count": self.count,
            "shares": [asdict(share) for share in self.shares],
            **{name: asdict(getattr(self, name)) for name in SCALES},
        }
        return table, self.memory.to_arrays()

    @classmethod
    def from_parts(
        cls, table: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> "Lags":
        """The lags that `to_parts` gave."""
        return cls(
            count=table["count"],
            shares=tuple(Scale(**share) for share in table["shares"]),
            memory=Memory.from_arrays(arrays),
            **{name: Scale(**table[name]) for name in SCALES},
        )


def fit(logs: Logs, count: int) -> Lags:
    """Learn the scales of outcomes, shares, and of changes to the row before; remember the last
    rows.
    """
    memory = nothing(logs)
    past = look_back(logs, memory)
    return Lags(
        count=count,
        outcome=_scale(logs.outcome),
        shares=tuple(_scale(share) for share in logs.shares.T),
        budget_change=_scale(_budget_change(logs, past)),
        days_since=_scale(_days_since(past)),
        memory=memory.remember(logs, count),
    )


def encode(logs: Logs, lags: Lags, clip: float) -> Iterator[tuple[str, Block]]:
    """One column each with its name; 0 where there is nothing earlier, and a flag that says so."""
    past = look_back(logs, lags.memory)
    yield from _outcomes(past, lags, clip)
    shares = past.rows.shares.T
    for channel, share, scale in zip(
        logs.schema.channels, shares, lags.shares, strict=True
    ):
        yield f"last share of {channel}", _column(_last(past, share), scale, clip)
    yield "log budget change", _column(_budget_change(logs, past), lags.budget_change, clip)
    yield "log days since the last row", _column(_days_since(past), lags.days_since, clip)
    none = past.end == past.first
    unseen = float(np.mean(none & past.is_fresh)) if len(logs) else 0.0
    yield "history", Block(none[:, None].astype(np.float32), (" missing",), unseen)


def _outcomes(
    past: UnitHistory,
    lags: Lags,
    clip: float,
) -> Iterator[tuple[str, Block]]:
    """The last outcome and the mean of the last few, each clipped before it enters, so that none
    carries the mean.
    """
    is_known = np.isfinite(past.rows.outcome)
    count = np.append(0, np.cumsum(is_known))
    first = count[past.first]
    end = count[past.end]
    outcome = past.rows.outcome[is_known]
    yield "last outcome", _column(_at(outcome, end - 1, first), lags.outcome, clip)
    scaled = number.encode(outcome, lags.outcome, clip).values[:, 0].astype(np.float64)
    total = np.zeros(len(end))
    # One gather per lag and no running sum, whose rounding would let one unit's outcomes touch
    # another's features.
    for back in range(1, lags.count + 1):
        total += np.nan_to_num(_at(scaled, end - back, first))
    mean = total / np.clip(end - first, 1, lags.count)
    yield (
        f"mean of the last {lags.count} outcomes",
        Block(mean[:, None].astype(np.float32), ("",)),
    )


def _budget_change(logs: Logs, past: UnitHistory) -> Floats:
    return number.log(logs.budget) - number.log(_last(past, past.rows.budget))


def _days_since(past: UnitHistory) -> Floats:
    times = past.rows.times
    end = past.end
    micros = np.where(end > past.first, times[end] - times[end - 1], 0)
    return number.log(micros / DAY_MICROS)


def _last(past: UnitHistory, values: Floats) -> Floats:
    """The value of the last earlier row, NaN where there is none."""
    return _at(values, past.end - 1, past.first)


def _at(values: Floats, at: Integers, first: Integers) -> Floats:
    """Values at positions, NaN for those before `first`."""
    return np.append(values, np.nan)[np.where(at >= first, at, -1)]


def _scale(values: Floats) -> Scale:
    # A row without an earlier one is not unseen; `history` has the flag for it.
    return replace(number.fit(values), has_missing=True)


def _column(values: Floats, scale: Scale, clip: float) -> Block:
    block = number.encode(values, scale, clip)
    return Block(block.values[:, :1], ("",), block.unseen)
