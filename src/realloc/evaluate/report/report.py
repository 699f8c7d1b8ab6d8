"""The whole report: every section it can give, and a verdict on what they say."""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from realloc.base.errors import LogError
from realloc.base.progress import Progress, silent
from realloc.evaluate.events import find_events
from realloc.evaluate.report.advice import Advice, Mask, advise, last_rows
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.intake import Taken, take_logs
from realloc.evaluate.report.quality import check_section, nuisance_section
from realloc.evaluate.report.ranking import Ranked, rank
from realloc.evaluate.report.section import Section, signed, span
from realloc.evaluate.report.today import action_section, moves_section, support_section
from realloc.evaluate.report.traffic import New, find_drawn, find_new, mark_randomized
from realloc.evaluate.report.verdict import RULES, VerdictEvidence, conclude
from realloc.evaluate.report.worth import (
    TITLE,
    Worth,
    goal_name,
    guardrail_section,
    measure_worth,
    uplift_section,
    worth_section,
)
from realloc.evaluate.result import Estimate, mean_estimate
from realloc.logs import Logs, Schema
from realloc.logs.reading.read import OnProgress
from realloc.model.realloc import ReAlloc


@dataclass(frozen=True)
class EvaluationReport:
    """Verdict, reasons, rules and sections, for a person (`print`, `to_html`) and for a script (`to_json`)."""

    verdict: str  # launch, test small, do not launch
    reasons: tuple[str, ...]
    evidence: VerdictEvidence
    sections: tuple[Section, ...]
    rules: tuple[str, ...] = RULES

    def __getitem__(self, title: str) -> Section:
        for section in self.sections:
            if section.title == title:
                return section
        raise KeyError(
            f"Expected one of {[section.title for section in self.sections]}, got {title!r}."
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """All that the report could not say."""
        return tuple(text for section in self.sections for text in section.missing)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and texts; what has no value is null."""
        found = {
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "rules": list(self.rules),
            "missing": list(self.missing),
            "sections": [section.to_json() for section in self.sections],
        }
        return json.loads(json.dumps(found), parse_constant=lambda _: None)  # NaN is no JSON

    def __str__(self) -> str:
        lines = [self.verdict.capitalize(), *(f"  {reason}" for reason in self.reasons)]
        for section in self.sections:
            lines += [
                "",
                section.title,
                *(f"  {text}" for text in (*section.missing, *section.lines)),
            ]
            lines += ["  " + " | ".join(row) for row in section.rows]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class ReportInputs:
    """All that was looked at, before anybody judges."""

    model: ReAlloc
    taken: Taken
    new: New
    advice: Advice  # of every unit's last row
    worth: Worth | None
    why_not: str  # why there is no lift
    ranked: Ranked
    config: ReportConfig

    @property
    def evidence(self) -> VerdictEvidence:
        """What the rules of the verdict look at."""
        worth = self.worth
        return VerdictEvidence(
            goal=goal_name(self.model),
            errors=tuple(f"{finding.what}." for finding in self.taken.check.errors),
            moved=int(self.advice.moved.sum()),
            lift=None if worth is None else worth.lift,
            why_no_lift=self.why_not,
            is_new=self.new.any,
            off_menu=0.0 if worth is None else worth.value["off_menu_rate"].value,
            most_off_menu=self.config.most_off_menu,
            guardrails=() if worth is None else worth.guardrails,
            rho=self.ranked.rho,
        )

    @property
    def sections(self) -> tuple[Section, ...]:
        """Decision first, foundations last."""
        advice, worth, goal = self.advice, self.worth, goal_name(self.model)
        promised = mean_estimate("promised", advice.gain)
        check = check_section(self.taken.check)
        value = (
            Section(title=TITLE, missing=(self.why_not,))
            if worth is None
            else worth_section(worth, self.new.any)
        )
        guarded = () if worth is None else worth.guardrails
        return (
            uplift_section(goal, promised, float(advice.gain_lower.mean()), worth),
            value,
            guardrail_section(guarded, predict_guardrails(self.model, advice)),
            self.ranked.section,
            action_section(advice),
            moves_section(advice),
            support_section(self.model, advice),
            nuisance_section(self.model, self.taken.logs),
            replace(check, lines=(self.new.sentence, *check.lines)),
        )


def evaluation_report(
    model: ReAlloc,
    source: Any,
    config: ReportConfig | None = None,
    *,
    schema: Schema | None = None,
    progress: Progress = silent,
    on_progress: OnProgress | None = None,
) -> EvaluationReport:
    """Everything that a log says about a fitted model; parts that it cannot speak about say what is missing.

    `schema`: instead of the model's, where the log marks randomized rows by a `propensity` that training did not have.
    """
    config, schema = config or ReportConfig(), schema or model.known_schema
    config.check_guardrails(schema)
    taken = take_logs(source, schema, config, model.config.check, on_progress)
    logs = taken.logs
    new, advice = find_new(model.fitted, logs), advise(model, last_rows(logs), progress)
    marked, why_not = _marked(taken, config)
    ranked = rank(model, logs, marked, new, config, progress)
    worth = None
    if marked is not None:
        worth, why_not = _worth(model, logs, new, config, progress)
    found = ReportInputs(model, taken, new, advice, worth, why_not, ranked, config)
    evidence = found.evidence
    verdict = conclude(evidence)
    return EvaluationReport(
        verdict.decision, verdict.reasons, evidence, (_glance(evidence, advice), *found.sections)
    )


def _marked(taken: Taken, config: ReportConfig) -> tuple[Mask | None, str]:
    """Which rows drew at random, or why none did."""
    if taken.spoiled and config.randomized is None and not config.arms:
        return None, f"The propensities cannot be used. {taken.spoiled}"
    try:
        return mark_randomized(taken.logs, config), ""
    except LogError as problem:
        return None, str(problem)


def _worth(
    model: ReAlloc, logs: Logs, new: New, config: ReportConfig, progress: Progress
) -> tuple[Worth | None, str]:
    """What the moves are worth on randomized rows, or why that cannot be told."""
    wanted = new.mask if new.any else np.ones(len(logs), dtype=bool)
    try:
        events = find_events(logs)
        drawn = find_drawn(logs, events, wanted, config)
        worth = measure_worth(model, logs, events, drawn, config, progress)
    except LogError as problem:
        return None, str(problem)
    return worth, "" if worth.lift is not None else worth.why_not


def predict_guardrails(model: ReAlloc, advice: Advice) -> dict[str, float]:
    """The mean change of every guardrail that the model itself expects from its moves."""
    state, logs = model.fitted, advice.logs
    x = state.encoder.encode(logs).values
    return {
        name: float(learned.student.gain(x, np.array(logs.shares), advice.shares).mean())
        for name, learned in state.outcomes.items()
        if name != logs.schema.outcome
    }


def _glance(evidence: VerdictEvidence, advice: Advice) -> Section:
    """The figures that a reader looks for first."""
    lift, rho = evidence.lift, evidence.rho

    def shown(estimate: Estimate | None, unit: str = "") -> str:
        return (
            "not measured"
            if estimate is None
            else f"{signed(estimate.value)}{unit} {span(estimate)}"
        )

    guarded = (
        "; ".join(f"{one.name} {one.decision}" for one in evidence.guardrails) or "none measured"
    )
    rows = (
        ("Expected uplift a row, measured", shown(lift, f" {evidence.goal}")),
        (
            "Expected uplift a unit, promised",
            f"{signed(float(advice.gain.mean()))} {evidence.goal}",
        ),
        ("Units moved", f"{advice.moved.mean():.1%} of {len(advice.moved):,}"),
        ("Guardrails", guarded),
        ("Ranking (ρ)", shown(rho)),
        ("Log check", f"{len(evidence.errors)} errors"),
    )
    return Section(title="At a glance", heads=("what", "found"), rows=rows)
