"""The table of a test: rows are summed to units, units to what was randomized; whatever would spoil a test is refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.simplex import Floats
from realloc.base.validation import nearest
from realloc.evaluate.abtest.config import AbtestConfig
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.columns import decoded, is_text, to_numbers
from realloc.logs.reading.source import Source, open_source

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Arms:
    """Totals per unit, and which cluster and arm each unit is in; without clusters every unit is its own."""

    rows: int
    clusters: Codes  # (n,) per unit
    treated: Mask  # (n,) per unit
    values: dict[str, Floats]  # (n,) per unit

    @property
    def size(self) -> Floats:
        """Units in each cluster, (G,)."""
        return np.bincount(self.clusters).astype(np.float64)

    @property
    def cluster_treated(self) -> Mask:
        """The arm of each cluster, (G,)."""
        arm = np.zeros(int(self.clusters.max()) + 1, dtype=bool)
        arm[self.clusters] = self.treated
        return arm

    def total(self, name: str) -> Floats:
        """A column summed over each cluster, (G,)."""
        return _sums(self.clusters, self.values[name])


def read_arms(source: Any, config: AbtestConfig) -> Arms:
    """Read the table of a running or finished test."""
    table = _Table(source, config)
    units = table.codes(config.unit)
    arm = table.arms()
    treated = _one_per_unit(arm, units, config, "arm", config.arm) > 0
    clusters = np.arange(len(treated))
    if config.cluster is not None:
        found = table.codes(config.cluster)
        clusters = _one_per_unit(found.codes, units, config, "cluster", config.cluster)
        _refuse_split_clusters(clusters, treated, found.labels, config)
    arms = Arms(len(units.codes), clusters, treated, table.values(units))
    _check_enough(arms, config)
    return arms


def read_units(source: Any, config: AbtestConfig) -> Arms:
    """Read a table from before a test, to plan it: the same columns without arms."""
    table = _Table(source, config, planning=True)
    units = table.codes(config.unit)
    n = len(units.labels)
    clusters = np.arange(n)
    if config.cluster is not None:
        clusters = _one_per_unit(
            table.codes(config.cluster).codes, units, config, "cluster", config.cluster
        )
    if clusters.max() < 2:
        raise LogError(
            f"Expected at least three units or clusters to plan a test from, got {clusters.max() + 1}."
        )
    return Arms(len(units.codes), clusters, np.zeros(n, dtype=bool), table.values(units))


@dataclass(frozen=True, eq=False)
class _Keys:
    """A column of names as codes into its labels."""

    codes: Codes
    labels: pa.Array


class _Table:
    """The columns a test needs, read once."""

    def __init__(self, source: Any, config: AbtestConfig, planning: bool = False) -> None:
        self.config, self.planning = config, planning
        opened: Source = open_source(source)
        _refuse_absent(opened.columns.names, self._names())
        pieces = [piece.batch for piece in opened.pieces(self._names())]
        self.table = (
            pa.Table.from_batches(pieces)
            if pieces
            else pa.table({name: [] for name in self._names()})
        )
        self.text = opened.text
        if self.table.num_rows == 0:
            raise LogError("Expected rows in the table of the test, but there are none.")

    def _names(self) -> list[str]:
        config = self.config
        keys = [config.unit, config.cluster, config.time, None if self.planning else config.arm]
        if not self.planning:
            keys += [config.predicted, config.predicted_lower]
        columns = [
            name for metric in config.metrics for name in (*metric.measured, *metric.earlier)
        ]
        return list(dict.fromkeys(name for name in (*keys, *columns) if name is not None))

    def codes(self, name: str) -> _Keys:
        """A column of names, refused where one is missing."""
        column = decoded(self.table[name].combine_chunks(), name)
        if is_text(column.type):
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) + 1
            raise LogError(
                f"Expected a value of {name!r} in every row, but {column.null_count:,} are empty, first row {row}."
            )
        encoded = column.dictionary_encode()
        return _Keys(encoded.indices.to_numpy().astype(np.int64), encoded.dictionary)

    def arms(self) -> Codes:
        """1 in the treatment arm, 0 in control; other arms are refused, never guessed."""
        config, found = self.config, self.codes(self.config.arm)
        labels = [
            str(label).lower() if isinstance(label, bool) else str(label)
            for label in found.labels.to_pylist()
        ]
        wanted = (config.control, config.treatment)
        other = [label for label in labels if label not in wanted]
        if other:
            raise LogError(
                f"Expected the arms {wanted[0]!r} and {wanted[1]!r} in column {config.arm!r}, got {other[0]!r}. "
                "Name them in `control` and `treatment` of [abtest], or leave out the rows of other arms."
            )
        if len(labels) < 2:
            raise LogError(
                f"Expected two arms in column {config.arm!r}, got {labels[0]!r} only. Nothing can be compared."
            )
        return np.array([wanted.index(label) for label in labels])[found.codes]

    def values(self, units: _Keys) -> dict[str, Floats]:
        """Every number per unit: sums of the test's columns, the one value of earlier ones."""
        config = self.config
        if config.time is not None:
            self._refuse_repeated(units, self.codes(config.time))
        values: dict[str, Floats] = {}
        for metric in config.metrics:
            for name in metric.measured:
                values[name] = _sums(units.codes, self._numbers(name, units))
            for name in metric.earlier:
                values[name] = self._earlier(name, units)
        for name in () if self.planning else (config.predicted, config.predicted_lower):
            if name is not None:  # may be empty for control units, which then cannot be binned
                values[name] = _sums(units.codes, self._numbers(name, units, empty=True))
        return values

    def _numbers(self, name: str, units: _Keys, empty: bool = False) -> Floats:
        parsed = to_numbers(self.table[name].combine_chunks(), name, self.text)
        if parsed.bad.any():
            row = int(np.flatnonzero(parsed.bad)[0])
            raise LogError(
                f"Expected numbers in column {name!r}, got {parsed.quote(row)} in row {row + 1}."
            )
        odd = np.isinf(parsed.values) if empty else ~np.isfinite(parsed.values)
        if odd.any():
            unit = units.labels[int(units.codes[np.flatnonzero(odd)[0]])].as_py()
            raise LogError(
                f"Expected a finite number of {name!r} in every row, but {int(odd.sum()):,} are empty or infinite, first "
                f"for {unit!r}. Write 0 where nothing happened; a unit that was not observed must go from both arms alike."
            )
        return parsed.values

    def _earlier(self, name: str, units: _Keys) -> Floats:
        """A pre-period value stands once per unit; a sum over days would let the test's length into it."""
        numbers = self._numbers(name, units)
        value = np.empty(len(units.labels))
        value[units.codes] = numbers
        if np.any(value[units.codes] != numbers):
            unit = units.labels[
                int(units.codes[np.flatnonzero(value[units.codes] != numbers)[0]])
            ].as_py()
            raise LogError(
                f"Expected one value of the pre-period column {name!r} per unit, got several for {unit!r}. "
                "Repeat the total from before the test in each of its rows."
            )
        return value

    def _refuse_repeated(self, units: _Keys, times: _Keys) -> None:
        key = units.codes * len(times.labels) + times.codes
        _, first, counts = np.unique(key, return_index=True, return_counts=True)
        if counts.max() > 1:
            row = int(first[counts.argmax()])
            raise LogError(
                f"Expected every unit once a period, got {units.labels[int(units.codes[row])].as_py()!r} "
                f"{counts.max()} times on {times.labels[int(times.codes[row])].as_py()}."
            )


def _sums(codes: Codes, values: Floats) -> Floats:
    return np.asarray(np.bincount(codes, weights=values), dtype=np.float64)


def _refuse_absent(present: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in present:
            raise LogError(
                f"Expected a column {name!r} in the table of the test, but there is none.{nearest(name, present)}"
            )


def _one_per_unit(
    found: Codes, units: _Keys, config: AbtestConfig, what: str, column: str
) -> Codes:
    """The one arm or cluster of each unit."""
    value = np.empty(len(units.labels), dtype=np.int64)
    value[units.codes] = found
    torn = np.unique(units.codes[value[units.codes] != found])
    if len(torn):
        unit = units.labels[int(torn[0])].as_py()
        raise LogError(
            f"Expected every unit in one {what}, but {len(torn):,} stand in two, first {config.unit} {unit!r} (column "
            f"{column!r}). Find out how it was assigned; leaving such units out can bias what remains."
        )
    return value


def _refuse_split_clusters(
    clusters: Codes, treated: Mask, labels: pa.Array, config: AbtestConfig
) -> None:
    part = np.bincount(clusters, weights=treated.astype(np.float64)) / np.bincount(clusters)
    torn = np.flatnonzero((part > 0) & (part < 1))
    if len(torn):
        raise LogError(
            f"Expected every cluster in one arm, but {len(torn):,} stand in both, first {config.cluster} "
            f"{labels[int(torn[0])].as_py()!r}. If units were randomized, leave out `cluster`."
        )


def _check_enough(arms: Arms, config: AbtestConfig) -> None:
    counts = np.bincount(arms.cluster_treated.astype(np.int64), minlength=2)
    if counts.min() < 2:
        name = (config.control, config.treatment)[int(counts.argmin())]
        raise LogError(
            f"Expected at least two {'clusters' if config.cluster else 'units'} in each arm, got {counts.min()} in {name!r}."
        )
