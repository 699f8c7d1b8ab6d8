"""One part of the report: sentences, a table, intervals to draw, and what is missing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from realloc.base.numbers import plain, signed
from realloc.draw import Bar
from realloc.evaluate.result import Estimate, EstimateTable

FIGURE_HEADS = ("figure", "value", "95 % interval", "n")


@dataclass(frozen=True, kw_only=True)
class Section:
    """What a part has to say, for a terminal and for a page."""

    title: str
    lines: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    drawn: tuple[Bar, ...] = ()  # on one scale
    figures: tuple[Estimate, ...] = ()  # every number, for scripts
    missing: tuple[str, ...] = ()  # what is missing and what to do

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "title": self.title,
            "lines": list(self.lines),
            "table": [dict(zip(self.heads, row, strict=True)) for row in self.rows],
            "figures": [vars(figure) for figure in self.figures],
            "missing": list(self.missing),
        }


def bar(name: str, estimate: Estimate, limit: float | None = None) -> Bar:
    """An estimate to draw under its name."""
    return Bar(name, estimate.value, estimate.low, estimate.high, limit)


def figure_rows(
    table: EstimateTable, labels: Mapping[str, str]
) -> tuple[tuple[str, ...], ...]:
    """A row under `FIGURE_HEADS` for every labelled estimate that has a value;
    lifts with their sign.
    """
    known = {estimate.name: estimate for estimate in table if isfinite(estimate.value)}
    rows: list[tuple[str, ...]] = []
    for name in labels:
        if name in known:
            estimate = known[name]
            show = signed if "lift" in name else figure
            interval = span(estimate, show)
            rows.append((labels[name], show(estimate.value), interval, f"{estimate.n:,}"))
    return tuple(rows)


def figure(value: float) -> str:
    """A number with three digits; empty where it is not known."""
    return plain(value) if isfinite(value) else ""


def span(estimate: Estimate, show: Callable[[float], str] = signed) -> str:
    """The interval as text; empty where there is none."""
    return (
        f"[{show(estimate.low)}, {show(estimate.high)}]" if isfinite(estimate.low) else ""
    )
