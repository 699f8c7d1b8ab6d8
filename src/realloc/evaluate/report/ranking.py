"""Do predicted gains rank what moves on routine traffic were followed by? Matched replay, out of time where possible."""

from dataclasses import dataclass

import numpy as np

from realloc.base.errors import LogError
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats
from realloc.evaluate.replay import (
    AdviceFunction,
    GainFunction,
    MatchedReplay,
    MatchedReplayConfig,
    against_chance,
    matched_replay,
)
from realloc.evaluate.report.advice import Mask, advise
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.section import Section, bar, plain, span
from realloc.evaluate.report.traffic import New
from realloc.evaluate.result import Estimate
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc

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


@dataclass(frozen=True, eq=False)
class Ranked:
    """The replay, whether it is on new rows, and its part of the report."""

    section: Section
    rho: Estimate | None


def rank(
    model: ReAlloc,
    logs: Logs,
    randomized: Mask | None,
    new: New,
    config: ReportConfig,
    progress: Progress = silent,
) -> Ranked:
    """Replay units without randomized rows, or all where every unit has some."""
    notes: list[str] = []
    routine, note = _routine(logs, randomized)
    start = config.start or _start(routine, new, logs)
    if note:
        notes.append(note)
    settings = MatchedReplayConfig(categories=config.categories, features=config.features)
    found = matched_replay(routine, _gains(model), start, settings, _advice(model), progress)
    notes.append(f"Moves from {start} on; what was predictable is learned from the dates before.")
    if not new.any:
        notes.append("The model learned from these rows, so the ranking flatters it.")
    return _ranked(found, notes)


def _ranked(found: MatchedReplay, notes: list[str]) -> Ranked:
    if not found.is_evaluated:
        why = found.verdict.removeprefix("cannot be evaluated: ")
        missing = (f"No ranking: {why} The rest of the report does not need it.",)
        return Ranked(Section(title=TITLE, lines=(*notes, *found.notes), missing=missing), None)
    estimates = {estimate.name: estimate for estimate in found.estimates}
    rows = tuple(
        (
            label,
            plain(estimates[name].value),
            span(estimates[name], signs=False),
            f"{estimates[name].n:,}",
        )
        for name, label in LABELS.items()
        if name in estimates
    )
    shown = {"rho_gain": "ρ of predicted gains", "noise_ceiling": "ρ of a perfect ranking"}
    drawn = tuple(bar(label, estimates[name]) for name, label in shown.items() if name in estimates)
    rho = estimates["rho_gain"]
    section = Section(
        title=TITLE,
        lines=(_sentence(rho), *notes, *found.notes),
        heads=("figure", "value", "95 % interval", "n"),
        rows=rows,
        drawn=drawn,
        figures=tuple(found.estimates),
    )
    return Ranked(section, rho)


def _sentence(rho: Estimate) -> str:
    return f"Predicted gains rank {rho.n:,} matched moves with ρ = {plain(rho.value)} {span(rho)}: {against_chance(rho)}."


def _gains(model: ReAlloc) -> GainFunction:
    def gain(asked: Logs, to: Floats) -> Floats:
        return model.fitted.gain(asked, np.asarray(to)).mean(axis=0)

    return gain


def _advice(model: ReAlloc) -> AdviceFunction:
    def found(asked: Logs) -> tuple[Mask, Mask]:
        advice = advise(model, asked)
        return advice.moved, advice.supported

    return found


def _routine(logs: Logs, randomized: Mask | None) -> tuple[Logs, str]:
    """Units that never drew at random; all units where there are no others."""
    if randomized is None or not randomized.any():
        return logs, ""
    drew = np.bincount(logs.unit_codes, weights=randomized) > 0
    keep = ~drew[logs.unit_codes]
    if not keep.any():
        return (
            logs,
            "Every unit drew at random at some time, so routine and randomized moves are replayed together.",
        )
    return logs.take(
        keep
    ), f"On routine traffic: {int(keep.sum()):,} rows of units that never drew at random."


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
