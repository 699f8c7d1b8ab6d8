"""What is counted about each chunk of a run; tallies of chunks add up to that of the run."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.decide.robustness import RobustnessSum
from realloc.decide.totals import GainSum, money_flows
from realloc.logs.reading.read import Today
from realloc.monitor.drift import Counts, add_counts

DUPLICATE = "duplicates"
GAIN_COLUMNS = ("gain", "gain_error", "common_error")
SUMS = (
    "rows",
    "usable",
    "duplicates",
    "moved",
    "money",
    "moved_money",
    "gain",
    "gain_common",
    "gain_single",
    "worth",
    "worth_gain",
    "worth_common",
    "worth_single",
    "robust_rows",
    "robust_gain",
    "robust_squared",
)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Counts and sums of some rows, plain values for JSON."""

    rows: int = 0
    usable: int = 0
    duplicates: int = 0
    moved: int = 0
    money: float = 0.0
    moved_money: float = 0.0
    # The sums of a `GainSum`.
    gain: float = 0.0
    gain_common: float = 0.0
    gain_single: float = 0.0
    # The gain in money less costs, and the sums of a `GainSum` in money.
    worth: float = 0.0
    worth_gain: float = 0.0
    worth_common: float = 0.0
    worth_single: float = 0.0
    # The sums of a `RobustnessSum`.
    robust_rows: int = 0
    robust_gain: float = 0.0
    robust_squared: float = 0.0
    # Usable rows whose own mix the logs support; None: not known.
    supported: int | None = None
    reasons: dict[str, int] = field(default_factory=dict[str, int])
    # Usable rows by the search that decided them: "compiled", or "numpy: " and why.
    searches: dict[str, int] = field(default_factory=dict[str, int])
    # Money (K, K) from channel k to channel l.
    flows: list[list[float]] = field(default_factory=list[list[float]])
    # Rows that could not be read, by what is wrong, and the first of each kind in a sentence.
    findings: dict[str, int] = field(default_factory=dict[str, int])
    first: dict[str, str] = field(default_factory=dict[str, str])
    # Rows in the bins of the training window.
    states: Counts = field(default_factory=dict[str, list[int]])

    @property
    def total(self) -> GainSum:
        """The gain of all rows together."""
        return GainSum(self.gain, self.gain_common, self.gain_single)

    @property
    def money_total(self) -> GainSum:
        """The gain of all rows together in money, before costs."""
        return GainSum(self.worth_gain, self.worth_common, self.worth_single)

    @property
    def robust(self) -> RobustnessSum:
        """How strong a hidden cause must be to undo the gain."""
        return RobustnessSum(self.robust_rows, self.robust_gain, self.robust_squared)

    def add(self, other: "Tally") -> "Tally":
        """Both together; the first of each finding is this one's."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        known = [part.supported for part in (self, other) if part.supported is not None]
        flows = self.flows or other.flows
        if self.flows and other.flows:
            flows = (np.array(self.flows) + np.array(other.flows)).tolist()
        return Tally(
            **sums,
            supported=sum(known) if known else None,
            reasons=dict(Counter(self.reasons) + Counter(other.reasons)),
            searches=dict(Counter(self.searches) + Counter(other.searches)),
            flows=flows,
            findings=dict(Counter(self.findings) + Counter(other.findings)),
            first=other.first | self.first,
            states=add_counts(self.states, other.states),
        )


def count_chunk(
    answers: pa.Table, today: Today, level: float | None, states: Counts
) -> Tally:
    """Count a chunk's answers; `level`: the part of logged actions that the support holds."""
    logs = today.logs
    schema = logs.schema

    def column(name: str) -> NDArray[Any]:
        """The values of usable rows."""
        return answers[name].to_numpy()[today.positions]

    moved = column("moved").astype(bool)
    share = np.stack([column(name) for name in schema.share_columns], axis=1)
    budget = np.stack([column(name) for name in schema.spend_columns], axis=1).sum(axis=1)
    change = np.where(moved[:, None], share - logs.shares, 0.0) * budget[:, None]
    total = GainSum.of(*(column(name).astype(np.float64) for name in GAIN_COLUMNS))
    gain, error, common = (column(name).astype(np.float64) for name in GAIN_COLUMNS)
    worth = 0.0
    in_money = GainSum()
    if "worth" in answers.column_names:
        each = column("worth").astype(np.float64)
        in_money = GainSum.of(each * gain, each * error, common)
        worth = float(np.nansum(column("money_gain").astype(np.float64)))
    robust = RobustnessSum.of(
        *(column(name).astype(np.float64) for name in ("gain", "robustness"))
    )
    reasons = Counter(answers["reason"].to_pylist())
    supported = None
    if level is not None:
        supported = int(np.count_nonzero(moved | (column("support") >= 1 - level)))
    return Tally(
        rows=answers.num_rows,
        usable=len(logs),
        duplicates=sum(
            finding.rows for finding in today.findings if finding.code == DUPLICATE
        ),
        moved=int(moved.sum()),
        supported=supported,
        money=float(budget.sum()),
        moved_money=float(np.maximum(change, 0).sum()),
        gain=total.gain,
        gain_common=total.common,
        gain_single=total.single,
        worth=worth,
        worth_gain=in_money.gain,
        worth_common=in_money.common,
        worth_single=in_money.single,
        robust_rows=robust.rows,
        robust_gain=robust.gain,
        robust_squared=robust.squared,
        reasons={reason: reasons[reason] for reason in sorted(reasons)},
        flows=money_flows(change).tolist(),
        findings={finding.code: finding.rows for finding in today.findings},
        first={finding.code: finding.sentence for finding in today.findings},
        states=states,
    )
