"""Checks on money: budgets that are budgets, in one unit, in one currency."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from realloc.base.numbers import written
from realloc.logs import names
from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.table import Logs


def budgets(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Budgets in one unit of money, and that are budgets."""
    budget = logs.budget
    codes = logs.unit_codes
    if logs.schema.budget is None:
        yield from _undeclared_budget(logs)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.diff(np.log(budget)))
    jumped = ratio > np.log(config.budget_jump)
    jumps = np.flatnonzero(logs.same_unit & jumped)
    if len(jumps):
        row = int(jumps[0]) + 1
        yield Finding(
            "budget_jump",
            "warning",
            f"Budgets that jump by more than a factor {config.budget_jump:g} from one period to "
            f"the next ({written(budget[row - 1])} → {written(budget[row])})",
            "Cents, units and micros, or two currencies, may be mixed in one column.",
            "Check the unit of money around these dates.",
            unit=logs.unit_of(row),
            date=logs.day_of(row),
            rows=len(jumps),
        )
    total = np.bincount(codes, weights=budget)
    largest = int(total.argmax())
    part = total[largest] / total.sum()
    if variation.units >= config.few_units and part > 0.2:
        yield Finding(
            "dominant_unit",
            "warning",
            f"One unit holds {part:.0%} of all budget",
            "It can carry the fit by itself.",
            "Check that it is not a total, and compare results without it.",
            unit=logs.unit_name(largest),
            rows=int((codes == largest).sum()),
        )


def _undeclared_budget(logs: Logs) -> Iterator[Finding]:
    """Spends that look like shares, or do not sum to a column that is named like the budget."""
    budget = logs.budget
    named = [name for name in logs.features if names.is_exactly(name, names.BUDGET)]
    constant = np.ptp(budget) < 1e-6 * abs(budget[0])
    if constant and round(budget[0], 6) in (1.0, 100.0):
        which = f'budget = "{named[0]}"' if named else "`budget=`"
        yield Finding(
            "looks_like_shares",
            "error" if named else "warning",
            f"The channels sum to {written(budget[0])} in every row: they look like shares, "
            "not spends",
            "The budget is taken to be that number everywhere, so its size is unknown to the "
            "model.",
            f"Name the column they are shares of with {which} (shares must then sum to 1).",
            column=named[0] if named else None,
        )
    for name in named:
        if not pa.types.is_floating(logs.table[name].type):
            continue
        stated = logs.table[name].to_numpy().astype(np.float64)
        off = np.abs(budget - stated) > np.maximum(1e-6 * np.abs(stated), 0.01)
        if off.any():
            row = int(np.argmax(off))
            yield Finding(
                "budget_mismatch",
                "warning",
                f"The channels sum to {written(budget[row])} where column {name!r} says "
                f"{written(stated[row])}",
                "The sum is taken as the budget, so what was not spent, or spent elsewhere, is "
                "not part of it.",
                "List the missing channel, or leave the column out if it is only a plan.",
                column=name,
                unit=logs.unit_of(row),
                date=logs.day_of(row),
                rows=int(off.sum()),
            )


def currency(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """One currency."""
    name = logs.schema.currency
    if name is None:
        return
    text = pc.utf8_upper(pc.utf8_trim_whitespace(logs.table[name].cast(pa.string())))
    counts = {
        pair["values"]: pair["counts"]
        for pair in text.drop_null().value_counts().to_pylist()
    }
    if len(counts) < 2:
        return
    frequent = sorted(counts, key=lambda code: -counts[code])[:6]
    listed = ", ".join(f"{code} {counts[code]:,} rows" for code in frequent)
    known = name in logs.features and name in (logs.schema.features or ())
    more = "" if known else " Or list the column in `features` to let the model see it."
    yield Finding(
        "mixed_currencies",
        "warning" if known else "error",
        f"Expected one currency, got {len(counts)} in column {name!r}: {listed}",
        "Budgets of 100 are not the same 100, so everything learned about budget size is wrong.",
        f"Convert to one currency or fit each one apart.{more}",
        column=name,
    )
