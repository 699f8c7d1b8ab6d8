"""What may be wrong with single rows: one rule each, counted while the log streams by."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from realloc.logs.checks.finding import Finding, Level


class Rule(NamedTuple):
    """How to speak of a problem; the first case fills in `{column}`, `{value}` and `{detail}`."""

    level: Level
    what: str
    meaning: str
    advice: str


ASIDE = "Such rows are set aside: they are neither learned from nor counted."

RULES: dict[str, Rule] = {
    "not_a_number": Rule(
        "error",
        "Expected numbers in column {column!r}, got {value}",
        "The column would be read with holes where values are.",
        "{detail}",
    ),
    "infinite": Rule(
        "error",
        "Expected finite numbers in column {column!r}, got {value}",
        "One infinite value spoils every average.",
        "Find where a division by zero made it, or leave the value empty.",
    ),
    "too_large": Rule(
        "error",
        "Expected amounts below 9e13 in column {column!r}, got {value}",
        "Amounts of that size cannot be kept to the cent, so something is wrong with the unit of "
        "money.",
        "Check for micros or a column that is not money.",
    ),
    "absurd": Rule(
        "error",
        "Expected numbers below 1e30 in column {column!r}, got {value}",
        "Nothing that is sold or spent is that large; sums and squares of it overflow.",
        "Find where it comes from, or leave the value empty.",
    ),
    "negative": Rule(
        "error",
        "Expected amounts of at least 0 in column {column!r}, got {value}",
        "A negative amount (a refund or correction) makes shares that are no shares.",
        "Net refunds against the day they belong to, or drop those rows.",
    ),
    "not_positive": Rule(
        "error",
        "Expected a propensity above 0 in column {column!r}, got {value}",
        "A logged action cannot have had no chance to be taken.",
        "Leave the value empty where the row was not randomized.",
    ),
    "shares_sum": Rule(
        "error",
        "Expected shares that sum to 1, got {value}",
        "They are not shares of the budget column, and rescaling them silently would invent data.",
        "{detail}",
    ),
    "missing_unit": Rule(
        "error",
        "Expected an id in column {column!r}, got nothing",
        "The row belongs to nobody.",
        "Fill it in or drop the rows.",
    ),
    "missing_time": Rule(
        "error",
        "Expected a date in column {column!r}, got nothing",
        "The row cannot be placed; a row of totals at the end looks like this.",
        "Fill it in or drop the rows.",
    ),
    "bad_time": Rule(
        "error",
        "Expected dates such as 2026-01-31 in column {column!r}, got {value}",
        "The row cannot be placed in time.",
        "Write it as YYYY-MM-DD, or name the form of all dates: --date-format DD/MM/YYYY for "
        '`realloc init` and `realloc check`, date_format = "DD/MM/YYYY" in [read] of the config.',
    ),
    "future_time": Rule(
        "error",
        "Expected dates up to today in column {column!r}, got {value}",
        "An outcome cannot be known yet, so the date or the outcome is wrong.",
        "Correct the dates, or drop plans and forecasts from the log.",
    ),
    "ancient_time": Rule(
        "warning",
        "Dates before 1990 in column {column!r}: {value}",
        "They usually come from an empty or zero time stamp.",
        "Check how dates were converted.",
    ),
    "zero_budget": Rule(
        "info",
        "The budget is 0",
        f"There is nothing to split. {ASIDE}",
        "Nothing to do if that is right.",
    ),
    "missing_budget": Rule(
        "warning",
        "The budget in column {column!r} is missing",
        ASIDE,
        "Fill it in if it is known.",
    ),
    "missing_outcome": Rule(
        "warning",
        "The outcome in column {column!r} is missing",
        ASIDE,
        "Fill it in if it is known (0 is not missing).",
    ),
    "missing_guardrail": Rule(
        "warning",
        "The guardrail in column {column!r} is missing",
        ASIDE,
        "Fill it in, or take it off `guardrails`.",
    ),
    "negative_outcome": Rule(
        "info",
        "The outcome in column {column!r} has negative values",
        "It is treated as a real number, not as a count.",
        "Check for refunds if it should be a count.",
    ),
    "unlisted_channel": Rule(
        "error",
        "Expected one of the schema's channels in column {column!r}, got {value}",
        "Its spend would be missing from the budget.",
        "List it under `channels`, or drop its rows.",
    ),
    "repeated_channel": Rule(
        "error",
        "Expected each channel once per unit and date, got one twice",
        "Adding the spends up silently would be a guess: the second row may be a correction or a "
        "copy.",
        "Add them up, or drop the copies, before reading.",
    ),
    "differs_within_day": Rule(
        "error",
        "Expected one value per unit and date in column {column!r}, got {value}",
        "In the long layout everything but channel and spend repeats on each of the day's rows.",
        "Make the column agree, or leave it out.",
    ),
}


class First(NamedTuple):
    """The first row that broke a rule."""

    where: str
    unit: str | None
    date: str | None
    value: str
    detail: str = ""


@dataclass
class RuleTally:
    """How many rows broke each rule in each column, and the first of them."""

    counts: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    firsts: dict[tuple[str, str | None], First] = field(default_factory=dict)

    def add(self, code: str, column: str | None, count: int, first: First) -> None:
        """Count `count` more rows that broke a rule."""
        self.counts[code, column] += count
        self.firsts.setdefault((code, column), first)

    def findings(self) -> list[Finding]:
        """One finding per rule and column; columns written in the same odd way share one."""
        together: dict[tuple[str, str], list[str | None]] = {}
        for (code, column), first in self.firsts.items():
            alike = first.detail if code == "not_a_number" else str(column)
            together.setdefault((code, alike), []).append(column)
        return [self._finding(code, columns) for (code, _), columns in together.items()]

    def _finding(self, code: str, columns: list[str | None]) -> Finding:
        rule = RULES[code]
        first = self.firsts[code, columns[0]]
        filled = {"column": columns[0], "value": first.value, "detail": first.detail}
        also = f"; also in {', '.join(map(repr, columns[1:]))}" if columns[1:] else ""
        return Finding(
            code,
            rule.level,
            rule.what.format(**filled) + also,
            rule.meaning,
            rule.advice.format(**filled),
            column=columns[0],
            unit=first.unit,
            date=first.date,
            where=first.where,
            rows=max(self.counts[code, column] for column in columns),
            stops_reading=rule.level == "error",
        )
