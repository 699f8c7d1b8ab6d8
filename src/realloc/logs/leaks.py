"""Features that must not be used: empty, constant, one value per row, or known only after the decision.

A column that moves with the outcome from one day to the next, within a unit, is a result of the day, whatever its
name. Yesterday's values do not do that, so levels that persist over time raise no alarm.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs import names
from realloc.logs.arrow import compute as pc
from realloc.logs.finding import Finding
from realloc.logs.table import Logs

SAMPLE_ROWS = 200_000
FEWEST_PAIRS = 40
CHANGE_CORRELATION = 0.98  # of day-to-day changes within a unit
LEVEL_CORRELATION = 0.99  # where units have one row each, so changes do not exist


def unsafe_features(logs: Logs) -> dict[str, Finding]:
    """Features to leave out, with the reason."""
    found: dict[str, Finding] = {}
    for name in logs.features:
        finding = _empty(logs, name) or _one_each(logs, name)
        if finding:
            found[name] = finding
    for name, finding in find_leaks(logs, left_out=True).items():
        found.setdefault(name, finding)
    return found


def listed_features(logs: Logs) -> list[Finding]:
    """The same for features that the user listed: they stay, with a warning, or an error if name and values agree."""
    found = [finding for name in logs.features if (finding := _empty(logs, name) or _one_each(logs, name))]
    leaks = find_leaks(logs, left_out=False)
    for name in logs.features:
        if name not in leaks and name not in logs.schema.known_before and names.looks_later(name):
            found.append(_named_later(name))
    return found + list(leaks.values())


def find_leaks(logs: Logs, left_out: bool) -> dict[str, Finding]:
    """Numeric features whose changes follow the outcome's or a share's changes too closely."""
    numeric = [
        name
        for name in logs.features
        if pa.types.is_floating(logs.table[name].type) and name not in logs.schema.known_before
    ]
    if not numeric or not len(logs):
        return {}
    rows = _sample(logs.unit_codes)
    sample = logs.take(rows)
    pairs = np.flatnonzero(np.diff(sample.unit_codes) == 0)
    targets = {f"share of {name!r}": sample.shares[:, k] for k, name in enumerate(logs.schema.channels)}
    if logs.schema.outcome in logs.table.column_names:
        targets = {"outcome": sample.outcome} | targets
    found: dict[str, Finding] = {}
    for name in numeric:
        values = sample.feature(name).to_numpy().astype(np.float64)
        for target, goal in targets.items():
            strength = _strength(values, goal, pairs)
            if strength is not None:
                found[name] = _leak(name, target, strength, left_out)
                break
    return found


def too_many(name: str, chosen: bool) -> Finding:
    """A category with too many values to be one."""
    return Finding(
        code="too_many_categories",
        level="warning" if chosen else "error",
        what=f"Feature {name!r} has more than a million different values{' and is left out' if chosen else ''}",
        meaning="It is an id, a time stamp or free text, from which nothing carries over to other rows.",
        advice="Leave it out of `features`, or group it into categories.",
        column=name,
        stops_reading=not chosen,
    )


def _sample(codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whole units, spread over the log, until there are enough rows."""
    stride = -(-len(codes) // SAMPLE_ROWS)
    kept = codes % stride == 0
    return kept if kept.any() else codes == codes[0]


def _strength(values: NDArray[np.float64], goal: NDArray[np.float64], pairs: NDArray[np.int64]) -> str | None:
    """A sentence about a suspicious correlation, or None."""
    if len(pairs) >= FEWEST_PAIRS:
        r = _correlation(values[pairs + 1] - values[pairs], goal[pairs + 1] - goal[pairs])
        return f"its day-to-day changes correlate {r:.2f}" if abs(r) >= CHANGE_CORRELATION else None
    r = _correlation(values, goal)
    return f"it correlates {r:.2f}" if abs(r) >= LEVEL_CORRELATION else None


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < FEWEST_PAIRS:
        return 0.0
    a, b = a[both] - a[both].mean(), b[both] - b[both].mean()
    scale = np.sqrt((a * a).sum()) * np.sqrt((b * b).sum())
    return float((a * b).sum() / scale) if scale > 0 and np.isfinite(scale) else 0.0


def _empty(logs: Logs, name: str) -> Finding | None:
    column = logs.table[name]
    missing = column.null_count + (
        int(pc.sum(pc.is_nan(column)).as_py() or 0) if pa.types.is_floating(column.type) else 0
    )
    if missing >= len(logs):
        what, meaning = f"Feature {name!r} is missing in every row", "It tells nothing."
        return _useless("all_missing", what, meaning, name)
    if missing == 0 and _constant(column):
        value = column[0].as_py()
        return _useless("constant_feature", f"Feature {name!r} is {value!r} in every row", "It tells nothing.", name)
    return None


def _constant(column: pa.ChunkedArray) -> bool:
    if pa.types.is_dictionary(column.type):
        codes = column.combine_chunks().indices if column.num_chunks > 1 else column.chunk(0).indices
        low_high = pc.min_max(codes)
    else:
        low_high = pc.min_max(column)
    return low_high["min"] == low_high["max"]


def _one_each(logs: Logs, name: str) -> Finding | None:
    column = logs.table[name]
    if not pa.types.is_dictionary(column.type) or len(logs) < 50:
        return None
    distinct = len(column.chunk(0).dictionary)
    if distinct < 0.9 * len(logs) or logs.unit_count >= 0.9 * len(logs):
        return None
    what = f"Feature {name!r} has {distinct:,} different values in {len(logs):,} rows"
    return _useless("id_like", what, "It is an id or free text, from which nothing carries over to other rows.", name)


def _useless(code: str, what: str, meaning: str, name: str) -> Finding:
    return Finding(
        code=code, level="warning", what=what, meaning=meaning, advice="Leave it out of `features`.", column=name
    )


def _named_later(name: str) -> Finding:
    return Finding(
        code="post_decision_name",
        level="warning",
        what=f"Feature {name!r} is named like a result of the decision",
        meaning="If it is only known after the budget was spent, the model explains the outcome by it.",
        advice="Use its past value, or list it under `known_before` to confirm that it was known.",
        column=name,
    )


def _leak(name: str, target: str, strength: str, left_out: bool) -> Finding:
    named = names.looks_later(name)
    kept = " and is left out" if left_out else ""
    hint = " Its name says so too." if named else ""
    return Finding(
        code="post_decision_values",
        level="error" if named and not left_out else "warning",
        what=f"Feature {name!r} looks known only after the decision{kept}: {strength} with the {target}",
        meaning=f"A model that sees the result of the decision learns nothing about its cause.{hint}",
        advice="Use its past value instead, or list it under `known_before` if it truly was known.",
        column=name,
    )
