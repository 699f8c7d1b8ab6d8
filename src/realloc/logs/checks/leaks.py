"""Features that must not be used: empty, constant, one value per row, or known only after the decision.

A column that moves with the outcome from one day to the next, within a unit, is a result of the day, whatever its
name. Yesterday's values do not do that, so levels that persist over time raise no alarm. Changes are standardised per
unit and ranked, so that neither large units nor a logarithm hide a copy.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs import names
from realloc.logs.checks.finding import Finding
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.table import Logs

SAMPLE_ROWS = 200_000
FEWEST_PAIRS = 40
COPY = 0.98  # rank correlation of day-to-day changes at which a column is a copy of the outcome or of a spend
CLOSE = 0.8  # … at which it is worth a word
CATEGORY_COPY = 0.8  # part of the outcome's variance within units that a category explains

Floats = NDArray[np.float64]


def unsafe_features(logs: Logs) -> dict[str, Finding]:
    """Features to leave out, with the reason."""
    found: dict[str, Finding] = {}
    for name in logs.features:
        finding = _empty(logs, name, True) or _one_each(logs, name, True)
        if finding:
            found[name] = finding
    for name, (target, strength) in find_leaks(logs).items():
        if strength >= COPY:
            found.setdefault(name, _leak(name, target, strength, True))
    return found


def listed_features(logs: Logs) -> list[Finding]:
    """The same for features that stay: those the user listed, and those that only come close."""
    chosen = logs.schema.features is None
    found: list[Finding] = []
    leaks = find_leaks(logs)
    for name in logs.features:
        finding = None if chosen else _empty(logs, name, False) or _one_each(logs, name, False)
        if finding:
            found.append(finding)
        elif name in leaks:
            found.append(_leak(name, *leaks[name], False))
        elif not chosen and name not in logs.schema.known_before and names.looks_later(name):
            found.append(_named_later(name))
    return found


def find_leaks(logs: Logs) -> dict[str, tuple[str, float]]:
    """Features that follow the outcome, a share or a spend too closely: what, and how closely (0 to 1)."""
    able = [name for name in logs.features if name not in logs.schema.known_before]
    if not able or not len(logs):
        return {}
    sample = logs.take(_sample(logs.unit_codes))
    view = _View(sample.unit_codes)
    targets = {name: view.changes(values) for name, values in _targets(sample).items()}
    outcome = view.standardised(sample.outcome) if "outcome" in targets else None
    found: dict[str, tuple[str, float]] = {}
    for name in able:
        column = sample.feature(name)
        if pa.types.is_dictionary(column.type):
            strength = 0.0 if outcome is None else _explained(column, outcome)
            best = ("outcome", 1.0 if strength >= CATEGORY_COPY else 0.0)
        else:
            best = _closest(view.changes(_as_numbers(column)), targets)
        if best[1] >= CLOSE:
            found[name] = best
    return found


class _View:
    """Rows of a sample by unit: standardise within units, and take changes from row to row; levels where units have one."""

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self.codes = codes
        self.pairs = np.flatnonzero(np.diff(codes) == 0)

    def standardised(self, values: Floats) -> Floats:
        """(v − mean of the unit) / sd of the unit, over given values; 0 where a unit does not vary."""
        given = np.isfinite(values)
        count = np.maximum(np.bincount(self.codes, weights=given), 1)
        mean = np.bincount(self.codes, weights=np.where(given, values, 0.0)) / count
        off = np.where(given, values - mean[self.codes], np.nan)
        spread = np.sqrt(np.bincount(self.codes, weights=np.square(np.nan_to_num(off))) / count)
        return np.divide(
            off, spread[self.codes], out=np.where(given, 0.0, np.nan), where=spread[self.codes] > 0
        )

    def changes(self, values: Floats) -> Floats:
        """Day-to-day changes of standardised values, or the values themselves where too few units have two rows."""
        if len(self.pairs) < FEWEST_PAIRS:
            return values
        return np.diff(self.standardised(values))[self.pairs]


def _targets(sample: Logs) -> dict[str, Floats]:
    found = (
        {"outcome": np.array(sample.outcome)}
        if sample.schema.outcome in sample.table.column_names
        else {}
    )
    shares, budget = sample.shares, sample.budget
    for k, name in enumerate(sample.schema.channels):
        found[f"share of {name!r}"] = shares[:, k]
        found[f"spend of {name!r}"] = shares[:, k] * budget
    return found


def _closest(changes: Floats, targets: dict[str, Floats]) -> tuple[str, float]:
    scored = [(name, abs(_rank_correlation(changes, goal))) for name, goal in targets.items()]
    return max(scored, key=lambda pair: pair[1])


def _rank_correlation(a: Floats, b: Floats) -> float:
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < FEWEST_PAIRS:
        return 0.0
    from scipy.stats import rankdata

    a, b = rankdata(a[both]), rankdata(b[both])
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0


def _explained(column: pa.ChunkedArray, outcome: Floats) -> float:
    """The part of the outcome's variance within units that the category explains (η²), levels with few rows aside."""
    codes = column.combine_chunks().indices.fill_null(-1).to_numpy() + 1
    counts = np.bincount(codes)
    if (counts > 0).sum() > len(codes) / 5:
        return 0.0
    mean = np.bincount(codes, weights=np.nan_to_num(outcome)) / np.maximum(counts, 1)
    total = float(np.nanvar(outcome))
    return float(np.sum(counts * np.square(mean)) / len(codes)) / total if total > 0 else 0.0


def _as_numbers(column: pa.ChunkedArray) -> Floats:
    if pa.types.is_floating(column.type):
        return column.to_numpy().astype(np.float64)
    if pa.types.is_boolean(column.type):
        return column.cast(pa.float64()).to_numpy()
    return np.full(len(column), np.nan)  # dates


def _sample(codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whole units, spread over the log, until there are enough rows."""
    stride = -(-len(codes) // SAMPLE_ROWS)
    kept = codes % stride == 0
    return kept if kept.any() else codes == codes[0]


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


def _empty(logs: Logs, name: str, left_out: bool) -> Finding | None:
    column = logs.table[name]
    missing = column.null_count
    if pa.types.is_floating(column.type):
        missing += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    if missing >= len(logs):
        return _useless(
            "all_missing",
            f"Feature {name!r} is missing in every row",
            "It tells nothing.",
            name,
            left_out,
        )
    if missing == 0 and _constant(column):
        what = f"Feature {name!r} is {column[0].as_py()!r} in every row"
        return _useless("constant_feature", what, "It tells nothing.", name, left_out)
    return None


def _constant(column: pa.ChunkedArray) -> bool:
    values = column.combine_chunks().indices if pa.types.is_dictionary(column.type) else column
    low_high = pc.min_max(values)
    return low_high["min"] == low_high["max"]


def _one_each(logs: Logs, name: str, left_out: bool) -> Finding | None:
    column = logs.table[name]
    if not pa.types.is_dictionary(column.type) or len(logs) < 50:
        return None
    distinct = len(column.chunk(0).dictionary)
    if distinct < 0.9 * len(logs) or logs.unit_count >= 0.9 * len(logs):
        return None
    what = f"Feature {name!r} has {distinct:,} different values in {len(logs):,} rows"
    meaning = "It is an id or free text, from which nothing carries over to other rows."
    return _useless("id_like", what, meaning, name, left_out)


def _useless(code: str, what: str, meaning: str, name: str, left_out: bool) -> Finding:
    advice = "It is left out." if left_out else "Leave it out of `features`."
    return Finding(
        code=code, level="warning", what=what, meaning=meaning, advice=advice, column=name
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


def _leak(name: str, target: str, strength: float, left_out: bool) -> Finding:
    named = names.looks_later(name)
    kept = " and is left out" if left_out else ""
    hint = " Its name says so too." if named else ""
    return Finding(
        code="post_decision_values",
        level="error" if named and strength >= COPY and not left_out else "warning",
        what=f"Feature {name!r} looks known only after the decision{kept}: from row to row it moves with the {target} "
        f"(rank correlation {strength:.2f})",
        meaning=f"A model that sees the result of the decision learns nothing about its cause.{hint}",
        advice="Use its past value instead, or list it under `known_before` if it truly was known.",
        column=name,
    )
