"""Features that must not be used: empty, constant, one value per row, or known only afterwards.

A column that moves with the outcome from one day to the next, within a unit, is a result of the
day, whatever its name. Yesterday's values do not do that, so levels that persist over time raise no
alarm. Changes are standardised per unit and ranked, so that neither large units nor a logarithm
hide a copy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.simplex import Integers, Mask
from realloc.logs import names
from realloc.logs.checks.finding import Finding
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.table import Floats, Logs, as_floats

SAMPLE_ROWS = 100_000
FEWEST_PAIRS = 40
COPY = 0.98  # rank correlation of day-to-day changes at which a column copies an outcome or a spend
CLOSE = 0.8  # … at which it is worth a word
CATEGORY_COPY = 0.8  # part of the outcome's variance within units that a category explains


def unsafe_features(logs: Logs) -> dict[str, Finding]:
    """Features to leave out, with the reason."""
    unsafe: dict[str, Finding] = {}
    leaks = find_leaks(logs)
    for name in logs.features:
        finding = _useless(logs, name, "It is left out.")
        if finding:
            unsafe[name] = finding
        elif name in leaks and leaks[name][1] >= COPY:
            unsafe[name] = _leak(name, *leaks[name], left_out=True)
    return unsafe


def listed_features(logs: Logs) -> Iterator[Finding]:
    """The same for features that stay: those the user listed, and those that only come close."""
    listed = logs.schema.features is not None
    leaks = find_leaks(logs)
    for name in logs.features:
        useless = _useless(logs, name, "Leave it out of `features`.") if listed else None
        if useless:
            yield useless
        elif name in leaks:
            yield _leak(name, *leaks[name], left_out=False)
        elif listed and names.looks_later(name) and _may_be_later(logs, name):
            yield Finding(
                "post_decision_name",
                "warning",
                f"Feature {name!r} is named like a result of the decision",
                "Was it known before the budget was set? If not, the model explains the outcome "
                "by it.",
                "If it was, list it under `known_before`; if not, use its past value.",
                column=name,
            )


def _may_be_later(logs: Logs, name: str) -> bool:
    """Whether a column can be a result: one that never changes within a unit cannot."""
    column = logs.table[name]
    if name in logs.schema.known_before:
        return False
    if pa.types.is_dictionary(column.type):
        column = column.combine_chunks().indices
    changes = np.diff(as_floats(column)[: len(logs)])
    return not logs.same_unit.any() or bool(np.any(np.abs(changes[logs.same_unit]) > 0))


def find_leaks(logs: Logs) -> dict[str, tuple[str, float]]:
    """Features that follow the outcome, a share or a spend too closely: which, and how closely."""
    able = [name for name in logs.features if name not in logs.schema.known_before]
    if not able or not len(logs):
        return {}
    # Rows of whole units, spread over the log, about as many as a sample needs.
    codes = logs.unit_codes
    kept = codes % -(-len(codes) // SAMPLE_ROWS) == 0
    sample = logs.take(kept if kept.any() else codes == codes[0])
    within = _WithinUnits(sample.unit_codes)
    targets: dict[str, Ranking] = {}
    outcome = None
    if sample.schema.outcome in sample.table.column_names:
        targets["outcome"] = Ranking.of(within.changes(sample.outcome))
        outcome = within.standardised(sample.outcome)
    shares = sample.shares
    spends = shares * sample.budget[:, None]
    for k, name in enumerate(sample.schema.channels):
        targets[f"share of {name!r}"] = Ranking.of(within.changes(shares[:, k]))
        targets[f"spend of {name!r}"] = Ranking.of(within.changes(spends[:, k]))
    leaks: dict[str, tuple[str, float]] = {}
    for name in able:
        column = sample.feature(name)
        if not pa.types.is_dictionary(column.type):
            changes = Ranking.of(within.changes(_comparable(column)))
            scores = {goal: rank_correlation(changes, targets[goal]) for goal in targets}
            closest = max(scores, key=scores.__getitem__)
            if scores[closest] >= CLOSE:
                leaks[name] = (closest, scores[closest])
        elif outcome is not None and _explained(column, outcome) >= CATEGORY_COPY:
            leaks[name] = ("outcome", 1.0)
    return leaks


class _WithinUnits:
    """Standardises within units, and takes changes from row to row of a unit."""

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self.codes = codes
        self.pairs = np.flatnonzero(np.diff(codes) == 0)

    def standardised(self, values: Floats) -> Floats:
        """(v − mean of the unit) / sd of the unit, over given values; 0 where it does not vary."""
        given = np.isfinite(values)
        count = np.maximum(np.bincount(self.codes, weights=given), 1)
        mean = np.bincount(self.codes, weights=np.where(given, values, 0.0)) / count
        off = np.where(given, values - mean[self.codes], np.nan)
        variance = np.bincount(self.codes, weights=np.square(np.nan_to_num(off))) / count
        spread = np.sqrt(variance)[self.codes]
        constant = np.where(given, 0.0, np.nan)
        return np.divide(off, spread, out=constant, where=spread > 0)

    def changes(self, values: Floats) -> Floats:
        """Changes of standardised values; the values where too few units have two rows."""
        if len(self.pairs) < FEWEST_PAIRS:
            return values
        return np.diff(self.standardised(values))[self.pairs]


@dataclass(frozen=True)
class Ranking:
    """Values in order, sorted once: ranks among any of the rows follow without sorting again."""

    order: Integers  # the rows where a value is given, smallest value first
    higher: Mask  # whether each of them is above the one before it
    given: Mask  # (n,)

    @classmethod
    def of(cls, values: Floats) -> "Ranking":
        """Sort; NaN is not given."""
        given = np.isfinite(values)
        order = np.argsort(np.where(given, values, np.inf))[: np.count_nonzero(given)]
        ordered = values[order]
        return cls(order, np.append(True, ordered[1:] > ordered[:-1])[: len(order)], given)

    @cached_property
    def ranks(self) -> Floats:
        """Standardised ranks (n,); 0 where nothing is given."""
        return self.among(self.given)

    def among(self, rows: Mask) -> Floats:
        """Ranks among `rows` (n,), ties at their mean, of mean 0 and length 1; 0 elsewhere."""
        kept = rows[self.order]
        order = self.order[kept]
        # A row is above the one before it if any of the rows between the two is.
        group = np.cumsum(self.higher)[kept]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        size = np.diff(first, append=len(order))
        ranks = np.zeros(len(rows))
        ranks[order] = np.repeat(first + (size - 1) / 2, size) - (len(order) - 1) / 2
        length = float(np.sqrt(ranks @ ranks))
        return ranks / length if length > 0 else ranks


def rank_correlation(a: Ranking, b: Ranking) -> float:
    """Spearman's ρ without its sign, over rows where both are given; 0 where they are few."""
    both = a.given & b.given
    if np.count_nonzero(both) < FEWEST_PAIRS:
        return 0.0
    ranks = [r.ranks if np.array_equal(both, r.given) else r.among(both) for r in (a, b)]
    return float(abs(ranks[0] @ ranks[1]))


def _explained(column: pa.ChunkedArray, outcome: Floats) -> float:
    """The part η² of the outcome's variance within units that a category explains.

    A category with few rows per level explains anything, and counts as 0.
    """
    codes = column.combine_chunks().indices.fill_null(-1).to_numpy() + 1
    counts = np.bincount(codes)
    total = float(np.nanvar(outcome))
    if total == 0 or np.count_nonzero(counts) > len(codes) / 5:
        return 0.0
    mean = np.bincount(codes, weights=np.nan_to_num(outcome)) / np.maximum(counts, 1)
    return float(np.sum(counts * np.square(mean)) / len(codes) / total)


def _comparable(column: pa.ChunkedArray) -> Floats:
    if pa.types.is_temporal(column.type):
        return np.full(len(column), np.nan)
    return as_floats(column)


def too_many(name: str, chosen: bool) -> Finding:
    """A category with too many values to be one."""
    left_out = " and is left out" if chosen else ""
    return Finding(
        "too_many_categories",
        "warning" if chosen else "error",
        f"Feature {name!r} has more than a million different values{left_out}",
        "It is an id, a time stamp or free text, from which nothing carries over to other rows.",
        "Leave it out of `features`, or group it into categories.",
        column=name,
        stops_reading=not chosen,
    )


def _useless(logs: Logs, name: str, advice: str) -> Finding | None:
    """A feature that is missing or the same in every row, or has a value for nearly each."""
    column = logs.table[name]
    rows = len(logs)
    missing = column.null_count
    if pa.types.is_floating(column.type):
        missing += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    if missing >= rows:
        what = f"Feature {name!r} is missing in every row"
        return Finding(
            "all_missing", "warning", what, "It tells nothing.", advice, column=name
        )
    category = pa.types.is_dictionary(column.type)
    values = column.combine_chunks().indices if category else column
    extremes = pc.min_max(values)
    if missing == 0 and extremes["min"] == extremes["max"]:
        what = f"Feature {name!r} is {column[0].as_py()!r} in every row"
        return Finding(
            "constant_feature", "warning", what, "It tells nothing.", advice, column=name
        )
    distinct = len(column.chunk(0).dictionary) if category else 0
    if rows >= 50 and distinct >= 0.9 * rows and logs.unit_count < 0.9 * rows:
        return Finding(
            "id_like",
            "warning",
            f"Feature {name!r} has {distinct:,} different values in {rows:,} rows",
            "It is an id or free text, from which nothing carries over to other rows.",
            advice,
            column=name,
        )
    return None


def _leak(name: str, target: str, strength: float, left_out: bool) -> Finding:
    named = names.looks_later(name)
    kept = " and is left out" if left_out else ""
    hint = " Its name says so too." if named else ""
    return Finding(
        "post_decision_values",
        "error" if named and strength >= COPY and not left_out else "warning",
        f"Feature {name!r} looks known only after the decision{kept}: from row to row it moves "
        f"with the {target} (rank correlation {strength:.2f})",
        f"A model that sees the result of the decision learns nothing about its cause.{hint}",
        "Use its past value instead, or list it under `known_before` if it truly was known.",
        column=name,
    )
