"""What a model would do on given rows: moves, their gain, flows of money, who gains."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from realloc.base.numbers import counted, readable
from realloc.base.simplex import Floats, Mask
from realloc.decide.totals import GainSum, money_flows, name_flows
from realloc.decide.types import MOVED, REASONS, WEAK, Decision
from realloc.logs import Logs
from realloc.logs.table import as_floats
from realloc.model.explain import SAME_BUDGET, say_total

FLOWS = 3  # shown
FEWEST = 20  # rows of a segment, and of the others
CLEAR = 3.0  # standard errors between a segment and the others
LEVELS = 50  # of a category that are looked at


@dataclass(frozen=True)
class GainingSegment:
    """Rows that gain more than the others: what they have in common, mean gains of both."""

    name: str
    rows: int
    gain: float
    others: float


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """The decisions on some rows in a few numbers."""

    rows: int
    moved: int
    gain: float
    gain_low: float  # of the 95 % interval
    gain_high: float
    calibration: str | None
    money: float
    moved_money: float
    flows: dict[str, float] = field(default_factory=dict[str, float])
    reasons: dict[str, int] = field(default_factory=dict[str, int])
    limits: dict[str, int] = field(default_factory=dict[str, int])
    segment: GainingSegment | None = None
    outcome: float | None = None  # of these rows in total, where it is what gains are about

    def lines(self) -> list[str]:
        """As sentences."""
        if not self.moved:
            return [f"Today it would move nothing ({counted(self.rows, 'row')})."]
        part = self.moved_money / self.money if self.money else 0.0
        money = f"{readable(self.moved_money)} of {readable(self.money)} ({part:.1%})"
        flows = ", ".join(f"{pair} {readable(to)}" for pair, to in self.flows.items())
        total = say_total(self.gain, self.gain_low, self.gain_high, self.calibration)
        if self.outcome:
            total += f" That is {self.gain / self.outcome:.1%} of these rows' outcome."
        lines = [
            f"Today it would move {self.moved:,} of {counted(self.rows, 'row')}: {money} changes "
            "hands.",
            total,
            f"Biggest flows: {flows}.",
        ]
        if self.segment:
            lines.append(
                f"Who gains most: {self.segment.name} ({counted(self.segment.rows, 'row')}), "
                f"{readable(self.segment.gain)} a row; the others {readable(self.segment.others)}."
            )
        lines.append(SAME_BUDGET)
        return lines

    def why_kept(self) -> list[str]:
        """How many rows stay, and why."""
        if self.limits.get(WEAK) == self.rows:
            return ["Why: the evidence is too weak for any row."]
        return [
            f"{counted(rows, 'row')} {'stays' if rows == 1 else 'stay'}: {REASONS[reason]}."
            for reason, rows in self.reasons.items()
            if reason not in MOVED
        ]


def look_ahead(logs: Logs, decision: Decision, single: bool = True) -> Outlook:
    """Sum up the decisions on rows; `single`: gains are those of the outcome alone."""
    moved = np.isin(decision.reason, MOVED)
    gain = np.where(moved, decision.gain, 0.0)
    further = decision.further
    total = GainSum.of(gain, further["gain_error"], further["common_error"])
    change = (decision.shares - logs.shares) * moved[:, None] * logs.budget[:, None]
    flows = name_flows(money_flows(change), logs.schema.channels)
    calibrations = further["calibration"]
    return Outlook(
        rows=len(logs),
        moved=int(moved.sum()),
        gain=total.gain,
        gain_low=total.gain - total.half,
        gain_high=total.gain + total.half,
        calibration=str(calibrations[0]) if len(calibrations) else None,
        money=float(logs.budget.sum()),
        moved_money=float(np.maximum(change, 0).sum()),
        flows=dict(list(flows.items())[:FLOWS]),
        reasons=dict(Counter(decision.reason.tolist()).most_common()),
        limits=dict(Counter(further["limited_by"][~moved].tolist()).most_common()),
        segment=_who_gains(logs, gain),
        outcome=_outcome_total(logs) if single else None,
    )


def _outcome_total(logs: Logs) -> float | None:
    known = logs.schema.outcome in logs.table.column_names
    total = float(logs.outcome.sum()) if known else 0.0
    return total if total > 0 else None


def _who_gains(logs: Logs, gain: Floats) -> GainingSegment | None:
    """The level, or half, of a feature whose rows gain most clearly more than the others."""
    best: tuple[float, GainingSegment | None] = (CLEAR, None)
    for name in logs.features:
        for label, inside in _segments(name, logs.feature(name)):
            if min(inside.sum(), (~inside).sum()) < FEWEST:
                continue
            own, others = gain[inside], gain[~inside]
            error = np.sqrt(own.var() / len(own) + others.var() / len(others))
            clear = float((own.mean() - others.mean()) / error) if error else 0.0
            if clear > best[0]:
                means = float(own.mean()), float(others.mean())
                best = (clear, GainingSegment(label, len(own), *means))
    return best[1]


def _segments(name: str, values: pa.ChunkedArray) -> list[tuple[str, Mask]]:
    if pa.types.is_dictionary(values.type):
        texts = np.asarray(values.cast(pa.string()).to_pylist(), dtype=object)
        levels = Counter(text for text in texts if text is not None).most_common(LEVELS)
        return [(f"rows with {name} = {level}", texts == level) for level, _ in levels]
    if pa.types.is_temporal(values.type):
        return []
    numbers = as_floats(values)
    known = ~np.isnan(numbers)
    if not known.any():
        return []
    middle = float(np.median(numbers[known]))
    border = readable(middle)
    return [
        (f"rows with {name} above {border}", known & (numbers > middle)),
        (f"rows with {name} up to {border}", known & (numbers <= middle)),
    ]
