"""Units that are the sum of others: a region beside the country that holds it, a shop beside the whole chain.

A total u and its parts v move together to the last order, up to a rest that is not logged: u = Σv + rest, rest ≥ 0.
Candidates are the largest units; weights come from non-negative least squares of u's series on the others', parts are
those with a weight near 1, and the match must hold after the season that all units share is taken out.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs.checks.finding import Finding
from realloc.logs.table import Logs

MOST_TOTALS, MOST_PARTS, MOST_DATES = 20, 200, 2000
FEWEST_DATES = 20
NEAR_ONE = (0.75, 1.3)
LEAST_MATCH = 0.95

Floats = NDArray[np.float64]


def find_totals(logs: Logs) -> list[Finding]:
    """One finding for each unit that looks like the sum of two or more others."""
    series, codes = _largest_series(logs)
    found: list[Finding] = []
    for column in range(min(len(codes), MOST_TOTALS)):
        parts = _parts_of(series, column)
        if parts is not None:
            found.append(
                _finding(logs.units, int(codes[column]), codes[parts], series, column, parts)
            )
    return found


def _largest_series(logs: Logs) -> tuple[Floats, NDArray[np.int64]]:
    """Outcome per date and unit (dates, units), largest units first; NaN where a unit has no row."""
    codes, outcome = logs.unit_codes, logs.outcome
    size = np.bincount(codes, weights=np.abs(outcome))
    largest = np.argsort(-size, kind="stable")[:MOST_PARTS]
    largest = largest[size[largest] > 0]
    place = np.full(len(size), -1)
    place[largest] = np.arange(len(largest))
    rows = np.flatnonzero(place[codes] >= 0)
    dates, date_index = np.unique(logs.times[rows], return_inverse=True)
    recent = date_index >= len(dates) - MOST_DATES
    series = np.full((len(dates), len(largest)), np.nan)
    series[date_index[recent], place[codes[rows]][recent]] = outcome[rows][recent]
    return series[-MOST_DATES:], largest


def _parts_of(series: Floats, column: int) -> NDArray[np.int64] | None:
    here = np.isfinite(series[:, column])
    total = series[here, column]
    others = np.flatnonzero(
        (np.arange(series.shape[1]) != column) & np.isfinite(series[here]).any(axis=0)
    )
    if here.sum() < FEWEST_DATES or len(others) < 2 or np.ptp(total) == 0:
        return None
    from scipy.optimize import nnls

    filled = np.nan_to_num(series[here])
    weights, _ = nnls(filled[:, others], total)
    parts = others[(weights >= NEAR_ONE[0]) & (weights <= NEAR_ONE[1])]
    if len(parts) < 2:
        return None
    rest = np.setdiff1d(others, parts)
    return parts if _matches(total, filled[:, parts].sum(axis=1), filled[:, rest]) else None


def _matches(total: Floats, summed: Floats, others: Floats) -> bool:
    """Whether the sum of the parts stays below the total, makes up most of it, and moves with it beyond the season."""
    if summed.sum() < 0.5 * total.sum() or np.mean(summed <= total * (1 + 1e-9)) < 0.95:
        return False
    season = _season(others)
    a, b = (_without(np.diff(values), season) for values in (total, summed))
    scale = np.sqrt((a @ a) * (b @ b))
    return bool(scale > 0 and (a @ b) / scale >= LEAST_MATCH)


def _season(others: Floats) -> Floats:
    """Day-to-day changes that the other units share; zero where there are too few to tell."""
    level = others.mean(axis=0)
    if others.shape[1] < 3 or not np.any(level > 0):
        return np.zeros(len(others) - 1)
    change = np.diff((others[:, level > 0] / level[level > 0]).mean(axis=1))
    return change - change.mean()


def _without(change: Floats, season: Floats) -> Floats:
    change = change - change.mean()
    power = float(season @ season)
    return change - season * (float(change @ season) / power) if power > 0 else change


def _finding(
    units: pa.Array,
    total: int,
    parts: NDArray[np.int64],
    series: Floats,
    column: int,
    places: NDArray[np.int64],
) -> Finding:
    here = np.isfinite(series[:, column])
    covered = np.nan_to_num(series[here][:, places]).sum() / series[here, column].sum()
    name = str(units[total].as_py())
    listed = ", ".join(repr(str(units[int(part)].as_py())) for part in parts[:6])
    return Finding(
        code="unit_is_a_total",
        level="warning",
        what=f"Unit {name!r} looks like the sum of others: {listed}{' …' if len(parts) > 6 else ''} "
        f"make up {covered:.0%} of its outcome and move with it",
        meaning="The same sales are counted twice, and a split by unit would leak them from training to evaluation.",
        advice=f'Keep either the total or its parts, e.g. drop_units = ["{name}"] in the schema.',
        unit=name,
        rows=int(here.sum()),
    )
