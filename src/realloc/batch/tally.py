"""What is counted about each part of a run; tallies of parts add up, in the order of the parts, to that of the run."""

from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs.reading.read import Today
from realloc.monitor.drift import Counts, add_counts

DUPLICATE = "duplicates"


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Counts and sums of some rows, plain values for JSON."""

    rows: int = 0
    usable: int = 0
    duplicates: int = 0
    moved: int = 0
    money: float = 0.0
    moved_money: float = 0.0
    gain: float = 0.0
    gain_lower: float = 0.0
    supported: int | None = None  # usable rows whose own mix the logs support; None: not known
    reasons: dict[str, int] = field(default_factory=dict[str, int])
    flows: list[list[float]] = field(
        default_factory=list[list[float]]
    )  # (K, K) money from channel k to channel l
    findings: dict[str, int] = field(
        default_factory=dict[str, int]
    )  # rows that could not be read, by what is wrong
    first: dict[str, str] = field(
        default_factory=dict[str, str]
    )  # and the first of each kind in a sentence
    states: Counts = field(
        default_factory=dict[str, list[int]]
    )  # rows in the bins of the training window

    def add(self, other: "Tally") -> "Tally":
        """Both together; the first of each finding is this one's."""
        flows = np.array(self.flows) + np.array(other.flows) if self.flows and other.flows else None
        plain = {
            spec.name: getattr(self, spec.name) + getattr(other, spec.name)
            for spec in fields(self)[:8]
        }
        return Tally(
            **plain,
            supported=other.supported
            if self.supported is None
            else self.supported + (other.supported or 0),
            reasons=dict(Counter(self.reasons) + Counter(other.reasons)),
            flows=flows.tolist() if flows is not None else self.flows or other.flows,
            findings=dict(Counter(self.findings) + Counter(other.findings)),
            first=other.first | self.first,
            states=add_counts(self.states, other.states),
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def count_part(answers: pa.Table, today: Today, level: float | None, states: Counts) -> Tally:
    """Of a part's answers; `level`: the part of logged actions that the support holds."""
    logs, rows = today.logs, today.positions
    channels, findings = logs.schema.channels, today.findings

    def column(name: str) -> NDArray[Any]:
        """Of usable rows."""
        return answers[name].to_numpy()[rows]

    moved = column("moved").astype(bool)
    share, spend = (
        np.stack([column(f"{kind}_{name}") for name in channels], axis=1)
        for kind in ("share", "spend")
    )
    budget = spend.sum(axis=1)
    off = np.where(moved[:, None], share - logs.shares, 0.0) * budget[:, None]
    told = Counter(answers["reason"].to_pylist())
    return Tally(
        rows=answers.num_rows,
        usable=len(logs),
        duplicates=sum(finding.rows for finding in findings if finding.code == DUPLICATE),
        moved=int(moved.sum()),
        supported=None
        if level is None
        else int(np.count_nonzero(moved | (column("support") >= 1 - level))),
        money=float(budget.sum()),
        moved_money=float(np.maximum(off, 0).sum()),
        gain=float(column("gain").sum()),
        gain_lower=float(column("gain_lower").sum()),
        reasons={reason: told[reason] for reason in sorted(told)},
        flows=_flows(off).tolist(),
        findings={finding.code: finding.rows for finding in findings},
        first={finding.code: finding.sentence for finding in findings},
        states=states,
    )


def _flows(off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Money (K, K) from channel k to channel l; where several give, each that gets takes from all givers alike."""
    give, get = np.maximum(-off, 0), np.maximum(off, 0)
    return (give / np.maximum(give.sum(axis=1, keepdims=True), 1e-300)).T @ get
