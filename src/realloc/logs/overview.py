"""What a person wants to know of a log first: how much, of whom, when, and what changes."""

from dataclasses import dataclass

import numpy as np

from realloc.base.numbers import readable
from realloc.logs.checks.variation import MOVED_POINT, Variation, count, measure
from realloc.logs.names import shortened
from realloc.logs.table import Logs

MOST_CHANNELS = 20  # that are printed
ASIDE = ("zero_budget", "missing_budget", "missing_outcome", "missing_guardrail")


@dataclass(frozen=True, kw_only=True, repr=False)
class LogSummary:
    """A log in a few figures; `print` shows them in words."""

    variation: Variation
    channels_move: tuple[
        float, ...
    ]  # part of a unit's steps that change a share by a point
    outcome: str
    outcome_mean: float  # per row
    outcome_zeros: float  # part of the rows
    outcome_within: float  # part of its variance that is within units
    features: tuple[str, ...]
    aside: tuple[tuple[str, int], ...]  # why rows were set aside, and how many

    def __repr__(self) -> str:
        log = self.variation
        moves = "every unit has one row, so nothing is known of how shares change"
        if log.rows > log.units:
            moves = (
                f"from one period to the next, {log.moved_rows:.0%} of the splits change by a "
                f"point of the budget or more; half of them by {log.move_median:.1%} or more"
            )
        lines = [
            f"{count(log.rows, 'row')} of {count(log.units, 'unit')}, "
            f"{count(log.periods, 'period')} from {log.first} to {log.last}",
            f"outcome   {self.outcome}: {readable(self.outcome_mean)} per row, 0 in "
            f"{self.outcome_zeros:.0%} of the rows, {self.outcome_within:.0%} of its variance "
            "within units",
            f"budget    {log.budget:,.0f} in all, {log.budget / log.rows:,.2f} per row",
            *self._channel_lines(),
            f"moves     {moves}",
            f"zeros     {log.zero_cells:.0%} of the shares, in {log.rows_with_zero:.0%} of rows",
            f"features  {shortened(list(self.features)) or 'none'}",
        ]
        lines += [f"set aside {count(rows, 'row')}: {why}" for why, rows in self.aside]
        return "\n".join(lines)

    def _channel_lines(self) -> list[str]:
        width = max(len(channel.channel) for channel in self.variation.channels)
        lines: list[str] = []
        for channel, moved in zip(self.variation.channels, self.channels_move, strict=True):
            label = "          " if lines else "channels  "
            lines.append(
                f"{label}{channel.channel:<{width}}  {channel.mean_share:4.0%} of the budget, "
                f"used in {channel.rows_used:4.0%} of the rows by {channel.units_using:,} units, "
                f"moves in {moved:4.0%} of the steps"
            )
        more = len(lines) - MOST_CHANNELS
        return [
            *lines[:MOST_CHANNELS],
            *([f"          and {more} more"] if more > 0 else []),
        ]


def summarise(logs: Logs) -> LogSummary:
    """Measure a log."""
    steps = np.abs(np.diff(logs.shares, axis=0))[logs.same_unit]
    moved = (steps >= MOVED_POINT).mean(axis=0) if len(steps) else np.zeros(0)
    values = logs.outcome
    codes = logs.unit_codes
    means = np.bincount(codes, weights=values) / np.maximum(np.bincount(codes), 1)
    variance = float(values.var())
    within = float(np.square(values - means[codes]).mean())
    return LogSummary(
        variation=measure(logs),
        channels_move=tuple(moved.tolist()) or (0.0,) * len(logs.schema.channels),
        outcome=logs.schema.outcome,
        outcome_mean=float(values.mean()),
        outcome_zeros=float((values == 0).mean()),
        outcome_within=within / variance if variance > 0 else 0.0,
        features=logs.features,
        aside=tuple((note.what, note.rows) for note in logs.notes if note.code in ASIDE),
    )
