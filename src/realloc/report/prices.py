"""What each rule costs: the same rows decided with all rules, and without one of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from realloc.base.numbers import percent, plain, signed
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import MOVED, Decision
from realloc.draw import DataTable, PagePiece, Paragraph
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc

BY_CHANNEL = {
    "floors": "floor of {name}: {value} of the budget",
    "caps": "cap of {name}: {value} of the budget",
    "floors_money": "floor of {name}: {value} in money",
    "caps_money": "cap of {name}: {value} in money",
}
SINGLE = {
    "largest_move": "largest move: {value} of the budget",
    "largest_move_money": "largest move: {value} in money",
    "largest_move_per_day": "largest move per day: {value} of all money",
    "smallest_move": "smallest move: {value} of the budget",
    "smallest_move_money": "smallest move: {value} in money",
    "grid": "shares change in steps of {value}",
}


@dataclass(frozen=True)
class DecidedTotals:
    """What a set of rules leads to on some rows."""

    rows: int
    moved: int
    gain: float
    moved_money: float

    @classmethod
    def of(cls, logs: Logs, decision: Decision) -> "DecidedTotals":
        """Add up decisions on rows."""
        moved = [reason in MOVED for reason in decision.reason.tolist()]
        changed = abs(decision.shares - logs.shares).sum(axis=1) / 2
        return cls(
            rows=len(logs),
            moved=sum(moved),
            gain=float(decision.gain[moved].sum()),
            moved_money=float((changed * logs.budget)[moved].sum()),
        )


@dataclass(frozen=True)
class RulePrice:
    """A rule, and what these rows would bring without it."""

    rule: str
    without: DecidedTotals
    gain_lost: float


def price_rules(
    model: ReAlloc, logs: Logs, constraints: Constraints
) -> tuple[DecidedTotals, tuple[RulePrice, ...]]:
    """Decide with every rule, and without each of them in turn; the dearest rule first."""
    within = DecidedTotals.of(logs, model.decide(logs, constraints))
    prices: list[RulePrice] = []
    for rule, others in without_each(constraints):
        totals = DecidedTotals.of(logs, model.decide(logs, others))
        prices.append(RulePrice(rule, totals, totals.gain - within.gain))
    return within, tuple(sorted(prices, key=lambda price: -price.gain_lost))


def without_each(constraints: Constraints) -> Iterator[tuple[str, Constraints]]:
    """Each rule in words, with the constraints that are left without it."""
    for kind, words in BY_CHANNEL.items():
        own: dict[str, float] = getattr(constraints, kind)
        for name, value in own.items():
            others = {other: limit for other, limit in own.items() if other != name}
            shown = _value(kind, value)
            yield (
                words.format(name=name, value=shown),
                replace(constraints, **{kind: others}),
            )
    for name in constraints.frozen:
        frozen = tuple(other for other in constraints.frozen if other != name)
        yield f"{name} is frozen", replace(constraints, frozen=frozen)
    for group in constraints.groups:
        groups = tuple(other for other in constraints.groups if other != group)
        yield group.name, replace(constraints, groups=groups)
    for kind, words in SINGLE.items():
        value: Any = getattr(constraints, kind)
        if value is not None:
            free = replace(constraints, **{kind: None})
            yield words.format(value=_value(kind, value)), free


def price_pieces(
    within: DecidedTotals, prices: tuple[RulePrice, ...], run_rows: int
) -> list[PagePiece]:
    """The price of every rule as a table."""
    if not prices:
        return [Paragraph("There are no constraints, so none costs anything.", "note")]
    sampled = within.rows < run_rows
    note = (
        f"Estimated on {within.rows:,} of {run_rows:,} rows, evenly spread."
        if sampled
        else f"All {within.rows:,} rows were decided again without each rule."
    )
    heads = (
        "rule",
        "gain lost",
        "part of the gain",
        "rows moved without it",
        "money moved",
    )
    rows = [
        (
            price.rule,
            plain(max(price.gain_lost, 0.0)),
            percent(max(price.gain_lost, 0.0) / price.without.gain)
            if price.without.gain
            else "",
            f"{price.without.moved:,} ({signed(price.without.moved - within.moved)})",
            plain(price.without.moved_money),
        )
        for price in prices
    ]
    return [DataTable(heads, rows, note=note)]


def _value(kind: str, value: float) -> str:
    return plain(value) if kind.endswith("_money") else percent(value)
