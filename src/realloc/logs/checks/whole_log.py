"""What may be wrong with a log as a whole: one function per question."""

from collections.abc import Callable, Iterator

import numpy as np

from realloc.base.numbers import written
from realloc.logs.checks import carry_over, exploration, interference, leaks, money, totals
from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation, measure
from realloc.logs.split import BLOCK_ROWS, LEAST_UNITS, cut_blocks
from realloc.logs.table import Logs

LogCheck = Callable[[Logs, Variation, CheckConfig], Iterator[Finding]]
RECENT = 14  # periods at the end that may be immature
BEFORE = 14  # periods before them to compare with


def size(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Enough rows and units."""
    rows = variation.rows
    units = variation.units
    if rows < config.fewest_rows:
        yield Finding(
            "too_few_rows",
            "error",
            f"Expected at least {config.fewest_rows} rows to learn from, got {rows}",
            "Noise would decide.",
            "Log longer.",
            rows=rows,
        )
    elif rows < config.few_rows:
        yield Finding(
            "few_rows",
            "warning",
            f"There are only {rows:,} rows",
            "Most effects will be smaller than the noise; expect to be told to keep the mix.",
            "Log longer.",
        )
    if units < config.fewest_units:
        yield Finding(
            "too_few_units",
            "error",
            f"Expected at least {config.fewest_units} units, got {units}",
            "Models are fitted on other units than they predict, so one unit alone cannot be "
            "learned from.",
            "Log by item, campaign or region instead of in total.",
        )
    elif rows >= config.fewest_rows and not _enough_histories(logs):
        yield Finding(
            "too_few_units",
            "error",
            f"Expected at least {LEAST_UNITS} units, or longer histories of {units} units, got "
            f"{rows:,} rows",
            "Models are fitted on other units, or other blocks of time, than they predict.",
            f"Log finer, or longer: {2 * BLOCK_ROWS} rows for each unit will do.",
        )
    elif units < config.few_units:
        yield Finding(
            "few_units",
            "warning",
            f"There are only {units} units",
            "Estimates hang on few units, and their intervals will be wide.",
            "Log finer.",
        )


def _enough_histories(logs: Logs) -> bool:
    """Whether the units, or blocks of their time, suffice to fit on some and predict others."""
    if logs.unit_count >= LEAST_UNITS:
        return True
    return len(np.unique(cut_blocks(logs))) >= LEAST_UNITS


def outcome(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Outcomes that vary."""
    schema = logs.schema
    for name in (schema.outcome, *schema.guardrails):
        values = logs.table[name].to_numpy()
        if np.ptp(values) == 0:
            part = "outcome" if name == schema.outcome else "guardrail"
            yield Finding(
                "constant_outcome",
                "error",
                f"Expected an {part} that varies in column {name!r}, got "
                f"{written(float(values[0]))} in every row",
                "Nothing can be learned about what changes it.",
                f"Check that {name!r} is the right column.",
                column=name,
            )


def outcome_by_unit(
    logs: Logs, variation: Variation, config: CheckConfig
) -> Iterator[Finding]:
    """An outcome that varies within units."""
    values = logs.outcome
    codes = logs.unit_codes
    rows = np.maximum(np.bincount(codes), 1)
    total = np.bincount(codes, weights=values)
    spread = np.bincount(codes, weights=values**2) - total**2 / rows
    tolerance = 1e-9 * (1 + np.abs(values).max() ** 2)
    constant = np.all(spread <= tolerance)
    if variation.rows > 1.5 * variation.units and np.ptp(values) > 0 and constant:
        yield Finding(
            "constant_within_units",
            "warning",
            "The outcome never changes within a unit",
            "It looks like a property of the unit, not a result of the period.",
            f"Check that {logs.schema.outcome!r} is the outcome of each row's period.",
            column=logs.schema.outcome,
        )


def maturity(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """No newest outcomes that are still coming in: budget would seem to have stopped working."""
    times, index = np.unique(logs.times, return_inverse=True)
    if len(times) < 10:
        return
    mean = np.bincount(index, weights=logs.outcome) / np.bincount(index)
    recent = min(RECENT, len(times) // 3)
    before = mean[-recent - BEFORE : -recent]
    usual = np.median(before)
    low = mean[-recent:] < min(0.6 * usual, usual - 4 * before.std())
    count = (
        recent if low.all() else int(np.argmin(low[::-1]))
    )  # low periods at the very end
    if count:
        level = mean[-count:].mean() / usual
        yield Finding(
            "immature_outcome",
            "warning",
            f"The outcome of the last {count} period{'s' if count > 1 else ''} is {level:.0%} of "
            "what it was before",
            "Late conversions may still be missing; learned from, they make the newest "
            "allocations look bad.",
            "Leave out the newest periods until their outcomes are complete.",
            column=logs.schema.outcome,
            date=str(times[-count].astype("datetime64[D]")),
            rows=int((index >= len(times) - count).sum()),
        )


def periods(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """One row per unit and day: several, at different hours, may be one day logged twice."""
    days = logs.times.astype("datetime64[D]")
    again = logs.same_unit & (days[1:] == days[:-1])
    if again.any():
        row = int(np.argmax(again)) + 1
        yield Finding(
            "several_a_day",
            "warning",
            "Units have several rows on one day, at different times of day",
            "If a row stands for a day, these are duplicates; if it stands for an hour, all is "
            "well.",
            f"For daily logs, turn {logs.schema.time!r} into dates before reading.",
            column=logs.schema.time,
            unit=logs.unit_of(row),
            date=logs.day_of(row),
            rows=int(again.sum()),
        )


def features(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Features that say something and were known before the decision."""
    if not logs.features:
        yield Finding(
            "no_features",
            "warning",
            "There are no features besides the budget",
            "Whatever made the old policy choose a split cannot be adjusted for.",
            "Add what was known before the decision: category, price, past sales.",
        )
    yield from leaks.listed_features(logs)


def sums(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """No unit that is the sum of others."""
    yield from totals.find_totals(logs)


# What can be said of the rows that are right, where others are wrong.
OF_THE_REST = (outcome, exploration.channels, exploration.shares, money.budgets)


def errors_of_rest(logs: Logs) -> Iterator[Finding]:
    """Further errors of a log some of whose rows are wrong, so that all are said at once."""
    if not len(logs):
        return
    config = CheckConfig()
    enough = len(logs) >= config.fewest_rows
    variation = measure(logs)
    for check in (*OF_THE_REST, money.currency) if enough else (money.currency,):
        for finding in check(logs, variation, config):
            if finding.level == "error":
                yield finding


CHECKS: tuple[LogCheck, ...] = (
    size,
    outcome,
    maturity,
    periods,
    exploration.channels,
    exploration.shares,
    exploration.overlap,
    carry_over.carry_over,
    interference.interference,
    outcome_by_unit,
    money.budgets,
    money.currency,
    features,
    sums,
)
