"""What a policy would do with rows, at the shares they stand at."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, Mask, total_variation
from realloc.decide.columns import names_of
from realloc.decide.totals import GainSum
from realloc.decide.types import MOVED, Decision, Policy
from realloc.logs import Logs
from realloc.model.config import Config
from realloc.model.realloc import ReAlloc

ERRORS = ("gain_error", "common_error")


@runtime_checkable
class PredictsGain(Protocol):
    """A policy that also says what it is worth to move rows to the shares `to` (n, K)."""

    def gain(self, today: Any, to: Any, /) -> Floats:
        """One gain per row, (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class Advice:
    """Recommended shares (n, K) of rows, and what the policy says about them."""

    logs: Logs
    shares: Floats
    moved: Mask
    gain: Floats  # 0 where not moved
    gain_lower: Floats
    support: Floats
    reason: NDArray[np.str_]
    supported: Mask  # whether the logs hold evidence for all of the way
    total: GainSum | None = None  # of all rows; None where the policy knows no errors

    @property
    def moved_share(self) -> Floats:
        """The part of each budget that changes hands."""
        return total_variation(self.logs.shares, self.shares)


def config_of(policy: Policy) -> Config:
    """The rules that a policy decides by; the defaults where it is not ours."""
    return policy.config if isinstance(policy, ReAlloc) else Config()


def advise(policy: Policy, logs: Logs, progress: Progress = silent) -> Advice:
    """Decide on every row as `recommend` does."""
    decision = _decide(policy, logs, progress)
    moved = np.isin(decision.reason, MOVED)
    gain = np.where(moved, decision.gain, 0.0)
    total = None
    if decision.further.keys() >= set(ERRORS):
        errors = (decision.further[name] for name in ERRORS)
        total = GainSum.of(gain, *(np.where(moved, error, 0.0) for error in errors))
    return Advice(
        logs=logs,
        shares=np.where(moved[:, None], decision.shares, logs.shares),
        moved=moved,
        gain=gain,
        gain_lower=np.where(moved, decision.gain_lower, 0.0),
        support=decision.support,
        reason=decision.reason,
        supported=decision.support >= 1 - config_of(policy).support.level,
        total=total,
    )


def why_kept(policy: Policy, advice: Advice) -> tuple[str, ...]:
    """Why a model moves none of the rows, and what would help; nothing if it moves some."""
    if advice.moved.any() or not isinstance(policy, ReAlloc):
        return ()
    summary = policy.summary(advice.logs)
    known = summary.known
    evidence = f"Evidence that the mix matters: z = {known.evidence:.1f} ({known.needed:g} needed)."
    kept = summary.today.why_kept() if summary.today else []
    return (evidence, *kept, *(f"What would help: {text}" for text in summary.advice))


def _decide(policy: Policy, logs: Logs, progress: Progress) -> Decision:
    if isinstance(policy, ReAlloc):
        return policy.decide(logs, progress=progress)
    answer = policy.recommend(logs.to_arrow())
    columns = {name: answer[name].to_numpy() for name in answer.column_names}
    shares = [columns[name] for name in names_of(answer.column_names, logs.schema)]
    return Decision(
        shares=np.stack(shares, axis=1),
        gain=columns["gain"],
        gain_lower=columns["gain_lower"],
        support=columns["support"],
        steps=columns["steps"],
        reason=columns["reason"].astype(np.str_),
    )


def last_rows(logs: Logs) -> Logs:
    """Every unit's last row: the rows that the policy would decide on first."""
    order = np.lexsort((logs.times, logs.unit_codes))
    codes = logs.unit_codes[order]
    is_last = np.append(codes[1:] != codes[:-1], True)[: len(codes)]
    return logs.take(np.sort(order[is_last]))
