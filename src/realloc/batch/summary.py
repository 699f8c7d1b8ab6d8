"""What a run did: its figures as one value, for JSON and in a few lines for people."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np

from realloc.base.numbers import readable
from realloc.batch.tally import Tally
from realloc.decide.totals import name_flows
from realloc.decide.types import REASONS, describe_searches
from realloc.model.explain import SAME_BUDGET, say_total
from realloc.model.recommend import calibration_of
from realloc.model.sensitivity import say_robustness
from realloc.monitor.age import Age, age_of
from realloc.monitor.drift import Drift, measure, worst
from realloc.serve.load import LoadedModel
from realloc.storage.ledger.rows import Run
from realloc.storage.store import Version

UNKNOWN = "not known"
PAIRS_SHOWN = 6


@dataclass(frozen=True)
class BatchDrift:
    """Drift against the training window: the worst of each group, and every column's PSI."""

    state: Drift | None
    shares: Drift | None
    drifted: tuple[str, ...]
    columns: dict[str, float]

    def largest(self) -> Drift:
        """The column that is farthest beyond what is usual."""
        known = [drift for drift in (self.state, self.shares) if drift is not None]
        return max(known, key=lambda drift: drift.excess)


@dataclass(frozen=True)
class Output:
    """The file that a run wrote, and whether it is the one that was asked for."""

    name: str
    sha256: str
    published: bool


@dataclass(frozen=True)
class LoggedAs:
    """The entry of the decision log that holds a run's decisions."""

    folder: str
    entry: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """The figures of a run; what is not known is None, never 0."""

    run: str
    made: str
    frozen: str | None
    version: int
    age: Age
    all_rows: bool
    rows: int
    usable: int
    bad_rows: int
    bad_rows_share: float
    duplicates: int
    moved: int
    action_rate: float | None
    money: float
    moved_money: float
    moved_share: float | None
    moved_by_pair: dict[str, float]
    gain: float
    gain_low: float  # of the 95 % interval of the sum
    gain_high: float
    reasons: dict[str, int]
    searches: dict[str, int]
    support_coverage: float | None
    bad_input: dict[str, dict[str, Any]]
    drift: BatchDrift | None
    input: dict[str, Any]
    broken_limits: tuple[str, ...] = ()
    forced: bool = False
    output: Output | None = None
    decision_log: LoggedAs | None = None
    calibration: str | None = None  # None: no model answered
    # Gain in money less costs, with its 95 % interval; None: an outcome has no worth.
    worth: float | None = None
    worth_low: float | None = None
    worth_high: float | None = None
    robustness: float | None = None  # of the total gain, to hidden causes; None: no gain

    def to_json(self) -> dict[str, Any]:
        """The figures as plain values."""
        return asdict(self)

    def figures(self) -> dict[str, Any]:
        """What the entry of the decision log does not say elsewhere."""
        elsewhere = ("run", "version", "input", "searches", "output", "decision_log")
        known = self.to_json()
        return {name: known[name] for name in known if name not in elsewhere}

    def lines(self) -> Iterator[str]:
        """The figures for the console."""
        share = "" if self.moved_share is None else f" ({self.moved_share:.1%})"
        yield say_total(self.gain, self.gain_low, self.gain_high, self.calibration)
        if self.worth is not None and self.worth_low is not None:
            high = readable(self.worth_high or 0.0)
            yield (
                f"In money, less what moves cost: {readable(self.worth)}, 95 % interval "
                f"{readable(self.worth_low)} to {high}."
            )
        if self.robustness is not None:
            yield say_robustness(self.gain, self.robustness)
        yield f"{self.moved_money:,.2f} of {self.money:,.2f} change hands{share}."
        yield SAME_BUDGET
        for pair, amount in list(self.moved_by_pair.items())[:PAIRS_SHOWN]:
            yield f"{pair:24}{amount:16,.2f}"
        for reason, count in self.reasons.items():
            yield f"{reason:12}{count:9,}  {REASONS[reason]}"
        yield f"Search: {describe_searches(self.searches)}."
        for code, finding in self.bad_input.items():
            yield f"{code}: {finding['first']}"
        supported = UNKNOWN
        if self.support_coverage is not None:
            supported = f"{self.support_coverage:.1%} of the rows"
        drift = UNKNOWN
        if self.drift is not None:
            drift = self.drift.largest().sentence
        yield f"Current shares supported: {supported}."
        yield f"Against the training window: {drift}."
        yield f"Version {self.version}, made {self.age.days:.1f} days ago."


def summarise(
    tally: Tally,
    loaded: LoadedModel,
    record: Version,
    run: Run,
    now: datetime,
    *,
    frozen: str | None,
    all_rows: bool,
    source: dict[str, Any],
) -> RunSummary:
    """Make the figures of a run from its tally; `source` is what was read."""
    bad_rows = tally.rows - tally.usable
    coverage = None
    if tally.usable and tally.supported is not None:
        coverage = tally.supported / tally.usable
    return RunSummary(
        run=run.id,
        made=now.isoformat(timespec="seconds"),
        frozen=frozen,
        version=record.number,
        age=age_of(record.created, record.windows[-1].last, now),
        all_rows=all_rows,
        input=source,
        rows=tally.rows,
        usable=tally.usable,
        bad_rows=bad_rows,
        bad_rows_share=bad_rows / max(tally.rows, 1),
        duplicates=tally.duplicates,
        moved=tally.moved,
        action_rate=tally.moved / tally.usable if tally.usable else None,
        money=round(tally.money, 2),
        moved_money=round(tally.moved_money, 2),
        moved_share=tally.moved_money / tally.money if tally.money else None,
        moved_by_pair=(
            name_flows(np.array(tally.flows), loaded.schema.channels) if tally.flows else {}
        ),
        gain=tally.gain,
        gain_low=tally.gain - tally.total.half,
        gain_high=tally.gain + tally.total.half,
        calibration=_calibration(loaded),
        **_worth(tally),
        robustness=tally.robust.robustness if tally.robust.rows else None,
        reasons=dict(sorted(tally.reasons.items(), key=lambda pair: -pair[1])),
        searches=tally.searches,
        support_coverage=coverage,
        bad_input={
            code: {"rows": rows, "first": tally.first[code]}
            for code, rows in tally.findings.items()
        },
        drift=_drift(tally, loaded.states),
    )


def _worth(tally: Tally) -> dict[str, Any]:
    if not tally.worth_gain:
        return {}
    half = tally.money_total.half
    return {
        "worth": tally.worth,
        "worth_low": tally.worth - half,
        "worth_high": tally.worth + half,
    }


def _calibration(loaded: LoadedModel) -> str | None:
    if loaded.model is None:
        return None
    return calibration_of(loaded.model.fitted, loaded.model.config.decision)


def _drift(tally: Tally, states: dict[str, Any] | None) -> BatchDrift | None:
    if states is None or not tally.states:
        return None
    drifts = measure(states, tally.states)
    return BatchDrift(
        state=worst(drifts, "state"),
        shares=worst(drifts, "shares"),
        drifted=tuple(drift.name for drift in drifts if drift.drifted),
        columns={drift.name: round(drift.psi, 6) for drift in drifts},
    )
