"""What may be wrong with a log as a whole: one small function per question."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from realloc.errors import ConfigError
from realloc.fields import check_types
from realloc.logs import leaks, names, totals
from realloc.logs.arrow import compute as pc
from realloc.logs.coverage import Coverage
from realloc.logs.finding import Finding
from realloc.logs.table import Logs


@dataclass(frozen=True, kw_only=True)
class AuditConfig:
    """Where the audit draws its lines (table `[audit]`)."""

    fewest_rows: int = 100  # fewer: no fit
    fewest_units: int = 2
    few_rows: int = 1000  # fewer: a warning
    few_units: int = 20
    budget_jump: float = 100.0  # a unit's budget from one period to the next, as a factor

    def __post_init__(self) -> None:
        check_types(self, "[audit]")
        if self.fewest_rows < 2 or self.fewest_units < 2:
            raise ConfigError("Expected `fewest_rows` and `fewest_units` of [audit] to be at least 2.")
        if min(self.few_rows, self.few_units) < 0:
            raise ConfigError("Expected `few_rows` and `few_units` of [audit] to be at least 0.")
        if self.budget_jump <= 1:
            raise ConfigError(f"Expected `budget_jump` of [audit] above 1, got {self.budget_jump}.")


Check = Callable[[Logs, Coverage, AuditConfig], Iterator[Finding]]


def size(logs: Logs, coverage: Coverage, config: AuditConfig) -> Iterator[Finding]:
    """Enough rows and units."""
    rows, units = coverage.rows, coverage.units
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


def outcome(logs: Logs, coverage: Coverage, config: AuditConfig) -> Iterator[Finding]:
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
    before, spread = mean[-9:-1].mean(), mean[-9:-1].std()
    if mean[-1] < 0.6 * before and mean[-1] < before - 4 * spread:
        yield Finding(
            code="immature_outcome",
            level="warning",
            what=f"The outcome of the last period is {mean[-1] / before:.0%} of the eight before it",
            meaning="Late conversions may still be missing; learned from, they make the newest allocations look bad.",
            advice="Leave out the newest periods until their outcomes are complete.",
            column=logs.schema.outcome,
            date=str(periods[-1].astype("datetime64[D]")),
            rows=int((index == len(periods) - 1).sum()),
        )


def channels(logs: Logs, coverage: Coverage, config: AuditConfig) -> Iterator[Finding]:
    """Channels that are used, by more than one unit."""
    unused = [channel.channel for channel in coverage.channels if channel.units_using == 0]
    used = len(coverage.channels) - len(unused)
    if used < 2:
        yield Finding(
            code="one_channel",
            level="error",
            what=f"Expected at least 2 channels with budget, got {used}",
            meaning="There is nothing to move budget between.",
            advice="Check the schema's `channels`.",
        )
    elif unused:
        yield Finding(
            code="unused_channel",
            level="warning",
            what=f"Channels that no unit ever used: {', '.join(unused)}",
            meaning="The log holds no evidence about them, so no budget will be moved there.",
            advice="Take them off `channels`, or run a small test.",
            column=unused[0],
        )
    lonely = [channel for channel in coverage.channels if channel.units_using == 1 and coverage.units > 1]
    for channel in lonely:
        user = logs.unit_codes[np.argmax(logs.amounts[:, logs.schema.channels.index(channel.channel)] > 0)]
        yield Finding(
            code="one_unit_channel",
            level="warning",
            what=f"Channel {channel.channel!r} is used by one unit only",
            meaning="Its effect cannot be told apart from that unit.",
            advice="Expect no moves into it for other units.",
            column=channel.channel,
            unit=str(logs.units[int(user)].as_py()),
            rows=round(channel.rows_used * coverage.rows),
        )


def variation(logs: Logs, coverage: Coverage, config: AuditConfig) -> Iterator[Finding]:
    """Shares that vary, and within units."""
    if all(channel.spread < 1e-9 for channel in coverage.channels):
        yield Finding(
            code="no_variation",
            level="error",
            what="Expected shares that vary, got the same split in every row",
            meaning="The effect of moving budget is not identified: no other split was ever tried.",
            advice="Vary the split on purpose for a while, at random and a little.",
        )
        return
    if coverage.within_variance < 0.01 and coverage.rows > coverage.units:
        yield Finding(
            code="little_variation",
            level="warning",
            what=f"Only {coverage.within_variance:.1%} of the variation of shares is within units",
            meaning="Effects rest on comparing units with each other, which differ in more than their split.",
            advice="Vary splits within units, at random and a little.",
        )
    if coverage.zero_cells > 0:
        patterns = "; ".join(f"{name or 'none'}: {count:,}" for name, count in coverage.patterns[:3])
        yield Finding(
            code="zeros",
            level="info",
            what=f"{coverage.zero_cells:.0%} of share cells are zero, in {coverage.rows_with_zero:.0%} of the rows, "
            f"{coverage.structural_zeros:.0%} of them in channels the unit never uses; {coverage.pattern_count:,} "
            f"patterns of active channels (most frequent: {patterns})",
            meaning="Zeros are normal, but log-ratios are undefined there: only closed-simplex geometry is right here.",
            advice="Channels that a unit never used stay closed for it unless you open them.",
        )


def budgets(logs: Logs, coverage: Coverage, config: AuditConfig) -> Iterator[Finding]:
    """Budgets in one unit of money, and that are budgets."""
    budget, codes = logs.budget, logs.unit_codes
    if logs.schema.budget is None and np.ptp(budget) < 1e-6 * abs(budget[0]) and round(budget[0], 6) in (1.0, 100.0):
        yield Finding(
            code="looks_like_shares",
            level="warning",
            what=f"The channels sum to {budget[0]:g} in every row: they look like shares, not spends",
            meaning="The budget is taken to be that number everywhere, so its size is unknown to the model.",
            advice="Name the budget's column with `budget=` (shares must then sum to 1).",
        )
    yield from _unspent(logs)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.diff(np.log(budget)))
    jumps = np.flatnonzero((np.diff(codes) == 0) & (ratio > np.log(config.budget_jump)))
    if len(jumps):
        row = int(jumps[0]) + 1
        yield Finding(
            code="budget_jump",
            level="warning",
            what=f"Budgets that jump by more than a factor {config.budget_jump:g} from one period to the next "
            f"({budget[row - 1]:g} → {budget[row]:g})",
            meaning="Cents, units and micros, or two currencies, may be mixed in one column.",
            advice="Check the unit of money around these dates.",
            unit=str(logs.units[int(codes[row])].as_py()),
            date=str(logs.times[row].astype("datetime64[D]")),
            rows=len(jumps),
        )
    total = np.bincount(codes, weights=budget)
    if coverage.units >= config.few_units and total.max() > 0.2 * total.sum():
        largest = int(total.argmax())
        yield Finding(
            code="dominant_unit",
            level="warning",
            what=f"One unit holds {total.max() / total.sum():.0%} of all budget",
            meaning="It can carry the fit by itself.",
            advice="Check that it is not a total, and compare results without it.",
            unit=str(logs.units[largest].as_py()),
            rows=int((codes == largest).sum()),
        )


def _unspent(logs: Logs) -> Iterator[Finding]:
    """A column named like the budget that the spends do not sum to: then part of it is spent elsewhere, or not at all."""
    named = [name for name in logs.features if names.rank(name, names.BUDGET) < len(names.BUDGET)]
    for name in named if logs.schema.budget is None else []:
        column = logs.table[name]
        if pa.types.is_floating(column.type):
            wanted = column.to_numpy().astype(np.float64)
            off = np.abs(logs.budget - wanted) > np.maximum(1e-6 * np.abs(wanted), 0.01)
            if off.any():
                row = int(np.argmax(off))
                yield Finding(
                    code="budget_mismatch",
                    level="warning",
                    what=f"The channels sum to {logs.budget[row]:g} where column {name!r} says {wanted[row]:g}",
                    meaning="The sum is taken as the budget, so what was not spent, or spent elsewhere, is not part of it.",
                    advice="List the missing channel, or leave the column out if it is only a plan.",
                    column=name,
                    unit=str(logs.units[int(logs.unit_codes[row])].as_py()),
                    date=str(logs.times[row].astype("datetime64[D]")),
                    rows=int(off.sum()),
                )


def currency(logs: Logs, coverage: Coverage, config: AuditConfig) -> Iterator[Finding]:
    """One currency."""
    name = logs.schema.currency
    if name is None:
        return
    counts = [(entry["values"], entry["counts"]) for entry in pc.value_counts(logs.table[name]).to_pylist()]
    if len(counts) < 2:
        return
    known = name in logs.features and logs.schema.features is not None and name in logs.schema.features
    listed = ", ".join(f"{code} {count:,} rows" for code, count in sorted(counts, key=lambda pair: -pair[1])[:6])
    yield Finding(
        code="mixed_currencies",
        level="warning" if known else "error",
        what=f"Expected one currency, got {len(counts)} in column {name!r}: {listed}",
        meaning="Budgets of 100 are not the same 100, so everything learned about budget size is wrong.",
        advice="Convert to one currency or fit each one apart; or list it in `features` to let the model see it.",
        column=name,
    )


def features(logs: Logs, coverage: Coverage, config: AuditConfig) -> Iterator[Finding]:
    """Features that say something and were known before the decision."""
    if not logs.features:
        yield Finding(
            code="no_features",
            level="warning",
            what="There are no features besides the budget",
            meaning="Whatever made the old policy choose a split cannot be adjusted for.",
            advice="Add what was known before the decision: category, price, past sales.",
        )
    if logs.schema.features is not None:
        yield from leaks.listed_features(logs)


def sums(logs: Logs, coverage: Coverage, config: AuditConfig) -> Iterator[Finding]:
    """No unit that is the sum of others."""
    yield from totals.find_totals(logs)


CHECKS: dict[str, Check] = {
    "size": size,
    "outcome": outcome,
    "channels": channels,
    "variation": variation,
    "budgets": budgets,
    "currency": currency,
    "features": features,
    "sums": sums,
}
