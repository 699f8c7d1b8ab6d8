"""What may be wrong with a log as a whole: one small function per question."""

from collections.abc import Callable, Iterator

import numpy as np

from realloc.logs.checks import exploration, leaks, totals
from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation
from realloc.logs.reading import money
from realloc.logs.table import Logs

LogCheck = Callable[[Logs, Variation, CheckConfig], Iterator[Finding]]
RECENT = 14  # periods at the end that may be immature
BEFORE = 14  # periods before them to compare with


def size(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Enough rows and units."""
    rows, units = variation.rows, variation.units
    if rows < config.fewest_rows:
        what = f"Expected at least {config.fewest_rows} rows to learn from, got {rows}"
        yield Finding(
            code="too_few_rows",
            level="error",
            what=what,
            meaning="Noise would decide.",
            advice="Log longer.",
            rows=rows,
        )
    elif rows < config.few_rows:
        meaning = "Most effects will be smaller than the noise; expect to be told to keep the mix."
        yield Finding(
            code="few_rows",
            level="warning",
            what=f"There are only {rows:,} rows",
            meaning=meaning,
            advice="Log longer.",
        )
    if units < config.fewest_units:
        yield Finding(
            code="too_few_units",
            level="error",
            what=f"Expected at least {config.fewest_units} units, got {units}",
            meaning="Models are fitted on other units than they predict, so one unit alone cannot be learned from.",
            advice="Log by item, campaign or region instead of in total.",
        )
    elif units < config.few_units:
        meaning = "Estimates hang on few units, and their intervals will be wide."
        yield Finding(
            code="few_units",
            level="warning",
            what=f"There are only {units} units",
            meaning=meaning,
            advice="Log finer.",
        )


def outcome(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """An outcome that varies, and is not still growing at the end."""
    for name in (logs.schema.outcome, *logs.schema.guardrails):
        values = logs.table[name].to_numpy()
        if np.ptp(values) == 0:
            part = "outcome" if name == logs.schema.outcome else "guardrail"
            yield Finding(
                code="constant_outcome",
                level="error",
                what=f"Expected an {part} that varies in column {name!r}, got {values[0]:g} in every row",
                meaning="Nothing can be learned about what changes it.",
                advice=f"Check that {name!r} is the right column.",
                column=name,
            )
    yield from _immature(logs)


def _immature(logs: Logs) -> Iterator[Finding]:
    """The newest outcomes may still be coming in: then budget seems to have stopped working."""
    periods, index = np.unique(logs.times, return_inverse=True)
    if len(periods) < 10:
        return
    mean = np.bincount(index, weights=logs.outcome) / np.bincount(index)
    recent = min(RECENT, len(periods) // 3)
    before = mean[-recent - BEFORE : -recent]
    low = mean[-recent:] < min(0.6 * np.median(before), np.median(before) - 4 * before.std())
    count = (
        recent if low.all() else int(np.argmin(low[::-1]))
    )  # how many periods at the very end are low
    if count:
        first, level = (
            periods[len(periods) - count],
            float(mean[-count:].mean() / np.median(before)),
        )
        yield Finding(
            code="immature_outcome",
            level="warning",
            what=f"The outcome of the last {count} period{'s' if count > 1 else ''} is {level:.0%} of what it was before",
            meaning="Late conversions may still be missing; learned from, they make the newest allocations look bad.",
            advice="Leave out the newest periods until their outcomes are complete.",
            column=logs.schema.outcome,
            date=str(first.astype("datetime64[D]")),
            rows=int((index >= len(periods) - count).sum()),
        )


def periods(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """One row per unit and period: several on one day, at different hours, may be one day logged twice."""
    days = logs.times.astype("datetime64[D]")
    again = (np.diff(logs.unit_codes) == 0) & (np.diff(days) == np.timedelta64(0, "D"))
    if again.any():
        row = int(np.argmax(again)) + 1
        yield Finding(
            code="several_a_day",
            level="warning",
            what="Units have several rows on one day, at different times of day",
            meaning="If a row stands for a day, these are duplicates; if it stands for an hour, all is well.",
            advice=f"For daily logs, turn {logs.schema.time!r} into dates before reading.",
            column=logs.schema.time,
            unit=str(logs.units[int(logs.unit_codes[row])].as_py()),
            date=str(days[row]),
            rows=int(again.sum()),
        )


def features(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Features that say something and were known before the decision."""
    if not logs.features:
        yield Finding(
            code="no_features",
            level="warning",
            what="There are no features besides the budget",
            meaning="Whatever made the old policy choose a split cannot be adjusted for.",
            advice="Add what was known before the decision: category, price, past sales.",
        )
    yield from leaks.listed_features(logs)


def sums(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """No unit that is the sum of others."""
    yield from totals.find_totals(logs)


CHECKS: dict[str, LogCheck] = {
    "size": size,
    "outcome": outcome,
    "periods": periods,
    "channels": exploration.channels,
    "variation": exploration.variation,
    "overlap": exploration.overlap,
    "budgets": money.budgets,
    "currency": money.currency,
    "features": features,
    "sums": sums,
}
