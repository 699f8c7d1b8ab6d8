"""Units that are the sum of others: a country beside its regions, a chain beside its shops.

A total u and its parts v move together up to a rest that is not logged: u = Σv + rest, rest ≥ 0.
Candidates are the largest units; weights come from non-negative least squares of u's series on the
others', parts are those with a weight near 1, and the match must hold after the season that all
units share is taken out.
"""

from collections.abc import Iterator

import numpy as np

from realloc.base.numerics.nnls import nnls
from realloc.base.simplex import Integers
from realloc.logs.checks.finding import Finding
from realloc.logs.table import Floats, Logs

MOST_TOTALS = 20
MOST_PARTS = 200
MOST_DATES = 2000
FEWEST_DATES = 20
LEAST_WEIGHT = 0.75
MOST_WEIGHT = 1.3
LEAST_MATCH = 0.95


def find_totals(logs: Logs) -> Iterator[Finding]:
    """One finding for each unit that looks like the sum of two or more others."""
    series, codes = _largest_series(logs)
    for column in range(min(len(codes), MOST_TOTALS)):
        present = series[np.isfinite(series[:, column])]
        parts = _parts_of(present, column)
        if len(parts) == 0:
            continue
        covered = np.nansum(present[:, parts]) / present[:, column].sum()
        name = logs.unit_name(codes[column])
        listed = [repr(logs.unit_name(code)) for code in codes[parts[:6]]]
        more = " …" if len(parts) > 6 else ""
        yield Finding(
            "unit_is_a_total",
            "warning",
            f"Unit {name!r} looks like the sum of others: {', '.join(listed)}{more} make up "
            f"{covered:.0%} of its outcome and move with it",
            "The same sales are counted twice, and a split by unit would leak them from training "
            "to evaluation.",
            f'Keep either the total or its parts, e.g. drop_units = ["{name}"] in the schema.',
            unit=name,
            rows=len(present),
        )


def _largest_series(logs: Logs) -> tuple[Floats, Integers]:
    """Outcome per date and unit (dates, units), largest units first; NaN where there is no row."""
    codes = logs.unit_codes
    outcome = logs.outcome
    size = np.bincount(codes, weights=np.abs(outcome))
    largest = np.argsort(-size, kind="stable")[:MOST_PARTS]
    largest = largest[size[largest] > 0]
    place = np.full(len(size), -1)
    place[largest] = np.arange(len(largest))
    rows = np.flatnonzero(place[codes] >= 0)
    dates, date_index = np.unique(logs.times[rows], return_inverse=True)
    series = np.full((len(dates), len(largest)), np.nan)
    series[date_index, place[codes[rows]]] = outcome[rows]
    return series[-MOST_DATES:], largest


def _parts_of(series: Floats, column: int) -> Integers:
    """The columns that add up to one of them, on the dates where that one has a row; or none."""
    none = np.empty(0, np.int64)
    total = series[:, column]
    others = np.flatnonzero(np.isfinite(series).any(axis=0))
    others = others[others != column]
    if len(total) < FEWEST_DATES or len(others) < 2 or np.ptp(total) == 0:
        return none
    filled = np.nan_to_num(series)
    weights = nnls(filled[:, others], total)
    is_part = (weights >= LEAST_WEIGHT) & (weights <= MOST_WEIGHT)
    summed = filled[:, others[is_part]].sum(axis=1)
    rest = filled[:, others[~is_part]]
    return others[is_part] if is_part.sum() >= 2 and _matches(total, summed, rest) else none


def _matches(total: Floats, summed: Floats, others: Floats) -> bool:
    """Whether the parts stay below the total, make up most of it, and move with it off season."""
    below = summed <= total * (1 + 1e-9)
    if summed.sum() < 0.5 * total.sum() or below.mean() < 0.95:
        return False
    season = _season(others)
    whole = _without(np.diff(total), season)
    parts = _without(np.diff(summed), season)
    scale = np.sqrt((whole @ whole) * (parts @ parts))
    return bool(scale > 0 and (whole @ parts) / scale >= LEAST_MATCH)


def _season(others: Floats) -> Floats:
    """Day-to-day changes that the other units share; zero where there are too few to tell."""
    level = others.mean(axis=0)
    active = level > 0
    if len(level) < 3 or not active.any():
        return np.zeros(len(others) - 1)
    relative = others[:, active] / level[active]
    change = np.diff(relative.mean(axis=1))
    return change - change.mean()


def _without(change: Floats, season: Floats) -> Floats:
    change = change - change.mean()
    power = float(season @ season)
    return change - season * (float(change @ season) / power) if power > 0 else change
