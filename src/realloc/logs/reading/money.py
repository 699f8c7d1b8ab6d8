"""Checks on money: budgets that are budgets, in one unit, in one currency."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from realloc.logs import names
from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.table import Logs


def budgets(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Budgets in one unit of money, and that are budgets."""
    budget, codes = logs.budget, logs.unit_codes
    if (
        logs.schema.budget is None
        and np.ptp(budget) < 1e-6 * abs(budget[0])
        and round(budget[0], 6) in (1.0, 100.0)
    ):
        yield _forgotten_budget(logs, budget[0])
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
    if variation.units >= config.few_units and total.max() > 0.2 * total.sum():
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


def _forgotten_budget(logs: Logs, whole: float) -> Finding:
    """Channels that sum to 1 or 100 everywhere; an error where the budget they are shares of stands in the log."""
    named = [name for name in logs.features if names.rank(name, names.BUDGET) < len(names.BUDGET)]
    which = f'budget = "{named[0]}"' if named else "`budget=`"
    return Finding(
        code="looks_like_shares",
        level="error" if named else "warning",
        what=f"The channels sum to {whole:g} in every row: they look like shares, not spends",
        meaning="The budget is taken to be that number everywhere, so its size is unknown to the model.",
        advice=f"Name the column they are shares of with {which} (shares must then sum to 1).",
        column=named[0] if named else None,
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


def currency(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """One currency."""
    name = logs.schema.currency
    if name is None:
        return
    text = pc.utf8_upper(pc.utf8_trim_whitespace(logs.table[name].cast(pa.string())))
    counts = [
        (e["values"], e["counts"])
        for e in pc.value_counts(text).to_pylist()
        if e["values"] is not None
    ]
    if len(counts) < 2:
        return
    known = (
        name in logs.features and logs.schema.features is not None and name in logs.schema.features
    )
    listed = ", ".join(
        f"{code} {count:,} rows" for code, count in sorted(counts, key=lambda pair: -pair[1])[:6]
    )
    yield Finding(
        code="mixed_currencies",
        level="warning" if known else "error",
        what=f"Expected one currency, got {len(counts)} in column {name!r}: {listed}",
        meaning="Budgets of 100 are not the same 100, so everything learned about budget size is wrong.",
        advice="Convert to one currency or fit each one apart."
        + ("" if known else " Or list the column in `features` to let the model see it."),
        column=name,
    )
