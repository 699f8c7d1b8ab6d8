"""The table of a test: rows are summed to units, units to what was randomized;
what spoils a test is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Integers, Mask
from realloc.base.validation import nearest
from realloc.evaluate.abtest.config import AbtestConfig
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.columns import decoded, is_text, to_numbers
from realloc.logs.reading.source import open_source

Codes = Integers


@dataclass(frozen=True, eq=False)
class Arms:
    """Totals per unit, and each unit's cluster and arm; without clusters every unit is its own."""

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
    predicted = [
        name for name in (config.predicted, config.predicted_lower) if name is not None
    ]
    table = _Table(source, config, (config.arm, *predicted))
    treated = table.per_unit("arm", config.arm, _arm_codes(table, config)) > 0
    clusters = table.clusters()
    if config.cluster is not None:
        part = np.bincount(clusters, weights=treated) / np.bincount(clusters)
        torn = np.flatnonzero((part > 0) & (part < 1))
        if len(torn):
            first = table.names(config.cluster).labels[int(torn[0])].as_py()
            raise LogError(
                f"Expected every cluster in one arm, but {len(torn):,} stand in both, first "
                f"{config.cluster} {first!r}. If units were randomized, leave out `cluster`."
            )
    values = table.values()
    for name in predicted:  # may be empty for control units, which then cannot be binned
        values[name] = _sums(table.units.codes, table.numbers(name, may_be_empty=True))
    arms = Arms(len(table.units.codes), clusters, treated, values)
    counts = np.bincount(arms.cluster_treated.astype(np.int64), minlength=2)
    if counts.min() < 2:
        kind = "clusters" if config.cluster else "units"
        name = config.control if counts.argmin() == 0 else config.treatment
        raise LogError(
            f"Expected at least two {kind} in each arm, got {counts.min()} in {name!r}."
        )
    return arms


def read_units(source: Any, config: AbtestConfig) -> Arms:
    """Read a table from before a test, to plan it: the same columns without arms."""
    table = _Table(source, config)
    clusters = table.clusters()
    if clusters.max() < 2:
        raise LogError(
            "Expected at least three units or clusters to plan a test from, got "
            f"{clusters.max() + 1}."
        )
    untreated = np.zeros(len(clusters), dtype=bool)
    return Arms(len(table.units.codes), clusters, untreated, table.values())


@dataclass(frozen=True, eq=False)
class Names:
    """A column of names as codes into its labels."""

    codes: Codes
    labels: pa.Array

    def at(self, row: int) -> Any:
        """The name of a row."""
        return self.labels[int(self.codes[row])].as_py()


class _Table:
    """The columns a test needs, read once."""

    def __init__(
        self, source: Any, config: AbtestConfig, further: Sequence[str] = ()
    ) -> None:
        self.config = config
        keys = [config.unit, config.cluster, config.time, *further]
        columns = [
            c for metric in config.metrics for c in (*metric.measured, *metric.earlier)
        ]
        names = list(dict.fromkeys(name for name in (*keys, *columns) if name is not None))
        opened = open_source(source)
        for name in names:
            if name not in opened.columns.names:
                raise LogError(
                    f"Expected a column {name!r} in the table of the test, but there is none."
                    f"{nearest(name, opened.columns.names)}"
                )
        batches = [piece.batch for piece in opened.pieces(names)]
        if not sum(batch.num_rows for batch in batches):
            raise LogError("Expected rows in the table of the test, but there are none.")
        self.table = pa.Table.from_batches(batches)
        self.text = opened.text
        self.read = opened.read
        self.units = self.names(config.unit)

    def names(self, name: str) -> Names:
        """A column of names, refused where one is missing."""
        column = decoded(self.table[name].combine_chunks(), name)
        if is_text(column.type):
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        if column.null_count:
            row = int(column.is_null().to_numpy(zero_copy_only=False).argmax()) + 1
            raise LogError(
                f"Expected a value of {name!r} in every row, but {column.null_count:,} are empty, "
                f"first row {row}."
            )
        encoded = column.dictionary_encode()
        return Names(encoded.indices.to_numpy().astype(np.int64), encoded.dictionary)

    def clusters(self) -> Codes:
        """The cluster of each unit; itself without clusters."""
        column = self.config.cluster
        if column is None:
            return np.arange(len(self.units.labels))
        return self.per_unit("cluster", column, self.names(column).codes)

    def per_unit(self, kind: str, column: str, codes: Codes) -> Codes:
        """The one arm or cluster of each unit."""
        value, torn = self._spread(codes)
        if len(torn):
            first = self.units.labels[int(torn[0])].as_py()
            raise LogError(
                f"Expected every unit in one {kind}, but {len(torn):,} stand in two, first "
                f"{self.config.unit} {first!r} (column {column!r}). Find out how it was assigned; "
                "leaving such units out can bias what remains."
            )
        return value

    def _spread(self, values: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
        """One value per unit, and the units whose rows do not agree on it."""
        codes = self.units.codes
        value = np.empty(len(self.units.labels), dtype=values.dtype)
        value[codes] = values
        return value, np.unique(codes[value[codes] != values])

    def values(self) -> dict[str, Floats]:
        """Every number per unit: sums of the test's columns, the one value of earlier ones."""
        if self.config.time is not None:
            times = self.names(self.config.time)
            key = self.units.codes * len(times.labels) + times.codes
            _, first, counts = np.unique(key, return_index=True, return_counts=True)
            if counts.max() > 1:
                row = int(first[counts.argmax()])
                raise LogError(
                    f"Expected every unit once a period, got {self.units.at(row)!r} "
                    f"{counts.max()} times on {times.at(row)}."
                )
        values: dict[str, Floats] = {}
        for metric in self.config.metrics:
            for name in metric.measured:
                values[name] = _sums(self.units.codes, self.numbers(name))
            for name in metric.earlier:
                # Summed over days, they would let the test's length in.
                values[name], torn = self._spread(self.numbers(name))
                if len(torn):
                    raise LogError(
                        f"Expected one value of the pre-period column {name!r} per unit, got "
                        f"several for {self.units.labels[int(torn[0])].as_py()!r}. Repeat the "
                        "total from before the test in each of its rows."
                    )
        return values

    def numbers(self, name: str, may_be_empty: bool = False) -> Floats:
        """A column of finite numbers."""
        parsed = to_numbers(
            self.table[name].combine_chunks(), name, self.text, read=self.read
        )
        if parsed.bad.any():
            row = int(parsed.bad.argmax())
            raise LogError(
                f"Expected numbers in column {name!r}, got {parsed.quote(row)} in row {row + 1}."
            )
        odd = np.isinf(parsed.values) if may_be_empty else ~np.isfinite(parsed.values)
        if odd.any():
            raise LogError(
                f"Expected a finite number of {name!r} in every row, but {int(odd.sum()):,} are "
                f"empty or infinite, first for {self.units.at(int(odd.argmax()))!r}. Write 0 where "
                "nothing happened; a unit that was not observed must go from both arms alike."
            )
        return parsed.values


def _arm_codes(table: _Table, config: AbtestConfig) -> Codes:
    """1 in the treatment arm, 0 in control; other arms are refused, never guessed."""
    arms = table.names(config.arm)
    labels = [
        str(label).lower() if isinstance(label, bool) else str(label)
        for label in arms.labels.to_pylist()
    ]
    known = (config.control, config.treatment)
    for label in labels:
        if label not in known:
            raise LogError(
                f"Expected the arms {known[0]!r} and {known[1]!r} in column {config.arm!r}, got "
                f"{label!r}. Name them in `control` and `treatment` of [abtest], or leave out the "
                "rows of other arms."
            )
    if len(labels) < 2:
        raise LogError(
            f"Expected two arms in column {config.arm!r}, got {labels[0]!r} only. Nothing can be "
            "compared."
        )
    return np.array([known.index(label) for label in labels])[arms.codes]


def _sums(codes: Codes, values: Floats) -> Floats:
    return np.bincount(codes, weights=values).astype(np.float64)
