"""Do predicted gains rank what moves on routine traffic were followed by?

Matched replay, out of time where possible.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.errors import LogError
from realloc.base.numbers import plain
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Mask
from realloc.decide.types import Policy
from realloc.evaluate.replay import MatchedReplayConfig, against_chance, matched_replay
from realloc.evaluate.report.advice import PredictsGain, advise
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.section import (
    FIGURE_HEADS,
    Section,
    bar,
    figure_rows,
    span,
)
from realloc.evaluate.report.traffic import New
from realloc.evaluate.result import Estimate
from realloc.logs import Logs

TITLE = "Ranking (matched replay)"
LABELS = {
    "rho_gain": "rank correlation ρ of predicted gain and matched response",
    "noise_ceiling": "ρ that a perfect ranking would reach in this noise",
    "rho_score": "ρ of gain per moved share",
    "within_unit_concordance": "pairs of one unit's moves in the right order",
    "aligned_gap": "response of the best fifth of moves minus the worst",
    "mean_response": "mean response of all moves",
    "mean_placebo_response": "mean response of rows that did not move (should be near 0)",
    "support_violation": "recommended moves outside the support",
    "update_rate": "rows that would be moved",
    "demand_r2": "part of the outcome that was predictable",
}
DRAWN = {"rho_gain": "ρ of predicted gains", "noise_ceiling": "ρ of a perfect ranking"}


@dataclass(frozen=True, eq=False)
class Ranked:
    """The replay's part of the report, and its rank correlation where it has one."""

    section: Section
    rho: Estimate | None = None


def rank(
    policy: Policy,
    logs: Logs,
    randomized: Mask | None,
    new: New,
    config: ReportConfig,
    progress: Progress = silent,
) -> Ranked:
    """Replay units without randomized rows, or all where every unit has some."""
    if not isinstance(policy, PredictsGain):
        text = "No ranking: the policy has no method `gain` that predicts what a move is worth."
        return Ranked(Section(title=TITLE, missing=(text,)))

    def moved_and_supported(rows: Logs) -> tuple[Mask, Mask]:
        advice = advise(policy, rows)
        return advice.moved, advice.supported

    notes: list[str] = []
    routine = _routine(logs, randomized, notes)
    start = config.start or _start(routine, new, logs)
    settings = MatchedReplayConfig(
        categories=config.categories,
        features=config.features,
        small_move=config.small_move,
    )
    replay = matched_replay(
        routine, policy.gain, start, settings, moved_and_supported, progress
    )
    notes.append(
        f"Moves from {start} on; what was predictable is learned from the dates before."
    )
    if not new.any:
        notes.append("The model learned from these rows, so the ranking flatters it.")
    notes += replay.notes
    if not replay.is_evaluated:
        why = replay.verdict.removeprefix("cannot be evaluated: ")
        missing = f"No ranking: {why} The rest of the report does not need it."
        return Ranked(Section(title=TITLE, lines=tuple(notes), missing=(missing,)))
    rho = replay["rho_gain"]
    sentence = (
        f"Predicted gains rank {rho.n:,} matched moves with ρ = {plain(rho.value)} {span(rho)}: "
        f"{against_chance(rho)}."
    )
    section = Section(
        title=TITLE,
        lines=(sentence, *notes),
        heads=FIGURE_HEADS,
        rows=figure_rows(replay, LABELS),
        drawn=tuple(bar(DRAWN[e.name], e) for e in replay if e.name in DRAWN),
        figures=replay.estimates,
    )
    return Ranked(section, rho)


def _routine(logs: Logs, randomized: Mask | None, notes: list[str]) -> Logs:
    """Units that never drew at random; all units where there are no others."""
    if randomized is None or not randomized.any():
        return logs
    drew = np.bincount(logs.unit_codes, weights=randomized) > 0
    keep = ~drew[logs.unit_codes]
    if not keep.any():
        notes.append(
            "Every unit drew at random at some time, so routine and randomized moves are replayed "
            "together."
        )
        return logs
    notes.append(
        f"On routine traffic: {int(keep.sum()):,} rows of units that never drew at random."
    )
    return logs.take(keep)


def _start(routine: Logs, new: New, logs: Logs) -> str:
    """The first new date, but not before a third of the dates."""
    dates = np.unique(routine.times)
    if not len(dates):
        raise LogError("Expected rows to replay, got none.")
    start = dates[len(dates) // 3]
    if new.any:
        start = max(start, logs.times[new.mask].min())
    day = start.astype("datetime64[D]")
    return str(day if day == start else start)
