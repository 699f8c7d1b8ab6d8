"""The whole report: every section it can give, and a verdict on what they say."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from realloc.base.errors import LogError
from realloc.base.numbers import signed
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Mask
from realloc.decide.types import Policy
from realloc.draw import PagePiece, Shown
from realloc.evaluate.events import find_events
from realloc.evaluate.report.advice import Advice, advise, config_of, last_rows, why_kept
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.intake import Taken, take_logs
from realloc.evaluate.report.quality import check_section, nuisance_section
from realloc.evaluate.report.ranking import rank
from realloc.evaluate.report.section import Section, span
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
from realloc.evaluate.result import Estimate, pick, without_nan
from realloc.logs import Logs, Schema
from realloc.logs.reading.read import OnProgress
from realloc.model.realloc import ReAlloc


@dataclass(frozen=True)
class EvaluationReport(Shown):
    """Verdict, reasons, rules and sections.

    For a person (`print`, `to_html`) and for a script (`to_json`).
    """

    verdict: str  # launch, test small, do not launch
    reasons: tuple[str, ...]
    evidence: VerdictEvidence
    sections: tuple[Section, ...]
    rules: tuple[str, ...] = RULES

    def pieces(self) -> list[PagePiece]:
        """What the page shows."""
        from realloc.evaluate.report.page import to_pieces

        return to_pieces(self)

    def __getitem__(self, title: str) -> Section:
        return pick({section.title: section for section in self.sections}, title)

    @property
    def missing(self) -> tuple[str, ...]:
        """All that the report could not say."""
        return tuple(text for section in self.sections for text in section.missing)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and texts; what has no value is null."""
        return without_nan(
            {
                "verdict": self.verdict,
                "reasons": self.reasons,
                "rules": self.rules,
                "missing": self.missing,
                "sections": [section.to_json() for section in self.sections],
            }
        )

    def __str__(self) -> str:
        lines = [self.verdict.capitalize(), *(f"  {reason}" for reason in self.reasons)]
        for section in self.sections:
            lines += ["", section.title]
            lines += [f"  {text}" for text in (*section.missing, *section.lines)]
            lines += ["  " + " | ".join(row) for row in section.rows]
        return "\n".join(lines)


def evaluation_report(
    policy: Policy,
    source: Any,
    config: ReportConfig | None = None,
    *,
    schema: Schema | None = None,
    progress: Progress = silent,
    on_progress: OnProgress | None = None,
) -> EvaluationReport:
    """Everything that a log says about a fitted policy;
    parts that it cannot speak about say what is missing.

    A `ReAlloc` model gets every section. Any other policy is valued on randomized rows, and ranked
    if it has a method `gain`. `schema`: instead of the model's, where the log marks randomized rows
    by a `propensity` that training did not have.
    """
    config = config or ReportConfig()
    schema = schema or _schema_of(policy, source)
    config.check_guardrails(schema)
    taken = take_logs(source, schema, config, config_of(policy).check, on_progress)
    new = find_new(policy, taken.logs)
    advice = advise(policy, last_rows(taken.logs), progress)
    marked, why_not = _marked(taken, config)
    ranked = rank(policy, taken.logs, marked, new, config, progress)
    worth = None
    if marked is not None:
        worth, why_not = _worth(policy, taken.logs, new, config, progress)
    evidence = VerdictEvidence(
        goal=goal_name(config_of(policy).decision, schema),
        errors=tuple(f"{finding.what}." for finding in taken.check.errors),
        moved=int(advice.moved.sum()),
        why_kept=why_kept(policy, advice),
        lift=worth.lift if worth else None,
        why_no_lift=why_not,
        is_new=new.any,
        off_menu=worth.value["off_menu_rate"].value if worth else 0.0,
        most_off_menu=config.most_off_menu,
        guardrails=worth.guardrails if worth else (),
        rho=ranked.rho,
    )
    verdict = conclude(evidence)
    sections = (  # the decision first, its foundations last
        _glance(evidence, advice),
        uplift_section(evidence.goal, advice, worth),
        worth_section(worth, new.any)
        if worth
        else Section(title=TITLE, missing=(why_not,)),
        guardrail_section(
            schema.guardrails, evidence.guardrails, _predicted(policy, advice)
        ),
        ranked.section,
        action_section(advice),
        moves_section(advice),
        support_section(policy, advice),
        *((nuisance_section(policy, taken.logs),) if isinstance(policy, ReAlloc) else ()),
        check_section(taken.check, new.sentence),
    )
    return EvaluationReport(verdict.decision, verdict.reasons, evidence, sections)


def _schema_of(policy: Policy, source: Any) -> Schema:
    known = (
        policy.known_schema
        if isinstance(policy, ReAlloc)
        else getattr(policy, "schema", None)
    )
    if isinstance(known, Schema):
        return known
    if isinstance(source, Logs):
        return source.schema
    raise LogError(
        f"Expected a schema to read the log with, but {type(policy).__name__} has none. Give "
        "`schema=`."
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
    policy: Policy, logs: Logs, new: New, config: ReportConfig, progress: Progress
) -> tuple[Worth | None, str]:
    """What the moves are worth on randomized rows, or why that cannot be estimated."""
    wanted = new.mask if new.any else np.ones(len(logs), dtype=bool)
    try:
        events = find_events(logs)
        drawn = find_drawn(logs, events, wanted, config)
        worth = measure_worth(policy, logs, events, drawn, config, progress)
    except LogError as problem:
        return None, str(problem)
    return worth, worth.why_not


def _predicted(policy: Policy, advice: Advice) -> dict[str, float]:
    """The mean change of every guardrail that the model itself expects from its moves."""
    if not isinstance(policy, ReAlloc):
        return {}
    logs = advice.logs
    x = policy.fitted.encoder.encode(logs).values
    rows = np.arange(len(logs))
    changes: dict[str, float] = {}
    for name, learned in policy.fitted.outcomes.items():
        if name != logs.schema.outcome:
            gains = learned.student.read(x)
            ends = advice.shares[:, None]
            changes[name] = float(gains.mean_gain(rows, np.array(logs.shares), ends).mean())
    return changes


def _glance(evidence: VerdictEvidence, advice: Advice) -> Section:
    """The figures that a reader looks for first."""

    def show(estimate: Estimate | None, unit: str = "") -> str:
        if estimate is None:
            return "not measured"
        return f"{signed(estimate.value)}{unit} {span(estimate)}"

    readings = [f"{reading.name} {reading.decision}" for reading in evidence.guardrails]
    promised = signed(float(advice.gain.mean()))
    rows = (
        ("Uplift per row, measured", show(evidence.lift, f" {evidence.goal}")),
        ("Uplift per unit, predicted", f"{promised} {evidence.goal}"),
        ("Units moved", f"{advice.moved.mean():.1%} of {len(advice.moved):,}"),
        ("Guardrails", "; ".join(readings) or "none measured"),
        ("Ranking (ρ)", show(evidence.rho)),
        ("Log check", f"{len(evidence.errors)} errors"),
    )
    return Section(title="At a glance", heads=("what", "found"), rows=rows)
