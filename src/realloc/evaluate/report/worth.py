"""What the recommended moves are worth on randomized rows, to the goal and to every guardrail."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.numbers import plain, signed
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats
from realloc.decide.config import DecisionConfig
from realloc.decide.types import Policy
from realloc.evaluate.agreement import agreement_lift
from realloc.evaluate.events import Events, at_previous
from realloc.evaluate.outcome_model import OutcomeModel, fit_outcome_model
from realloc.evaluate.randomized import Randomized, RandomizedMoves
from realloc.evaluate.report.advice import Advice, advise, config_of
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.section import FIGURE_HEADS, Section, bar, figure_rows, span
from realloc.evaluate.report.traffic import Drawn
from realloc.evaluate.report.verdict import GuardrailReading
from realloc.evaluate.result import Estimate, EstimateTable, mean_estimate
from realloc.evaluate.value import CANNOT, PolicyValue, policy_value, smoothed_value
from realloc.evaluate.weights import target_shares
from realloc.logs import Logs, Schema

TITLE = "Value on randomized rows (doubly robust)"
LABELS = {
    "dr_lift_over_hold": "lift over keeping the mix, a row",
    "lift_over_hold_per_action": "lift over keeping the mix, a moved row",
    "dr_lift": "lift over what was logged, a row",
    "clipped_dr_lift": "lift over logged, weights clipped",
    "self_normalised_dr_lift": "lift over logged, self-normalised",
    "snips_lift": "lift over logged, without an outcome model",
    "agreement_lift": "moves the recommended way minus the other way",
    "action_rate": "rows that would be moved",
    "off_menu_rate": "rows whose recommended move was never drawn",
    "effective_rows": "effective rows",
    "effective_acting_rows": "effective rows where the model moves",
    "effective_units": "effective units",
    "mean_weight": "mean weight (1 where propensities are right)",
    "largest_weight": "largest weight",
    "outcome_model_r2": "part of the outcome that was predictable",
}
LIFTS = (
    "dr_lift_over_hold",
    "dr_lift",
    "clipped_dr_lift",
    "self_normalised_dr_lift",
    "snips_lift",
)
GUARDRAIL_HEADS = (
    "guardrail",
    "predicted a unit",
    "measured a row",
    "95 % interval",
    "may lose",
    "decision",
)


@dataclass(frozen=True, eq=False)
class Worth:
    """The value of the moves, their agreement, what was promised on the same rows,
    and the guardrails.
    """

    value: PolicyValue
    agreement: Estimate | None
    promised: Estimate
    guardrails: tuple[GuardrailReading, ...]
    notes: tuple[str, ...]

    @property
    def lift(self) -> Estimate | None:
        """Over keeping the mix; None where it cannot be estimated."""
        return _told(self.value)

    @property
    def why_not(self) -> str:
        """Why there is no lift over keeping the mix; empty where there is one."""
        if self.lift is not None:
            return ""
        if self.value.verdict == CANNOT:
            return f"The value cannot be estimated: {self.value.reason}"
        return (
            "Keeping the mix was not possible in every randomized row, so the lift over it cannot "
            "be estimated."
        )


def measure_worth(
    policy: Policy,
    logs: Logs,
    events: Events,
    drawn: Drawn,
    config: ReportConfig,
    progress: Progress = silent,
) -> Worth:
    """Ask the policy at the shares before the draw, then value its answer with what was drawn."""
    decision = config_of(policy).decision
    guardrails = logs.schema.guardrails
    steps = 3 + len(guardrails)
    advice = advise(policy, at_previous(logs, events, drawn.at), progress)
    # Rounding is no direction.
    shares = np.where(advice.moved[:, None], advice.shares, drawn.rows.start)
    progress("value", 1, steps)
    rows = replace(drawn.rows, outcome=goal_of(decision, logs)[drawn.at])
    model = fit_outcome_model(rows)
    value = _value(rows, shares, model, config)
    progress("value", 2, steps)
    readings: list[GuardrailReading] = []
    for name in guardrails:
        guarded = replace(rows, outcome=logs.guardrail(name)[drawn.at])
        lift = _told(_value(guarded, shares, None, config))
        readings.append(GuardrailReading(name, margin_of(decision, config, name), lift))
        progress("value", 2 + len(readings), steps)
    try:
        agreement = agreement_lift(rows, shares, model)["agreement_lift"]
    except ConfigError:  # a density that is known at the drawn shares only
        agreement = None
    progress("value", steps, steps)
    promised = mean_estimate("promised", advice.gain, rows.unit)
    return Worth(value, agreement, promised, tuple(readings), drawn.notes)


def _value(
    rows: Randomized, shares: Floats, model: OutcomeModel | None, config: ReportConfig
) -> PolicyValue:
    if isinstance(rows, RandomizedMoves):
        return policy_value(rows, target_shares(rows, shares, config.tolerance), model)
    return smoothed_value(rows, shares, model)


def _told(value: PolicyValue) -> Estimate | None:
    lift = value["dr_lift_over_hold"]
    return lift if isfinite(lift.low) else None


def goal_of(decision: DecisionConfig, logs: Logs) -> Floats:
    """What decisions aim at: the outcome, or the weighted sum of `weights` of [decision]."""
    if not decision.weights:
        return np.asarray(logs.outcome)
    outcomes = {name: logs.guardrail(name) for name in logs.schema.guardrails}
    outcomes[logs.schema.outcome] = logs.outcome
    return np.sum(
        [weight * outcomes[name] for name, weight in decision.weights.items()], axis=0
    )


def goal_name(decision: DecisionConfig, schema: Schema) -> str:
    """The outcome's name, or what it is part of."""
    terms = [f"{weight:g} {name}" for name, weight in decision.weights.items()]
    return " + ".join(terms) or schema.outcome


def margin_of(decision: DecisionConfig, config: ReportConfig, name: str) -> float:
    """What a guardrail may lose a row: of [report], else of [decision], else nothing."""
    return config.margins.get(name, decision.tolerances.get(name, 0.0))


def worth_section(worth: Worth, is_new: bool) -> Section:
    """Every number of the value, and how the rows were drawn."""
    figures = worth.value.estimates
    if worth.agreement is not None:
        figures = (*figures, worth.agreement)
    notes = worth.notes
    if not is_new:
        notes = (*notes, "The model learned from these rows, so the value flatters it.")
    return Section(
        title=TITLE,
        lines=notes,
        heads=FIGURE_HEADS,
        rows=figure_rows(EstimateTable(figures), LABELS),
        drawn=tuple(bar(LABELS[name], worth.value[name]) for name in LIFTS),
        figures=figures,
        missing=(worth.why_not,) if worth.why_not else (),
    )


def guardrail_section(
    names: tuple[str, ...],
    readings: tuple[GuardrailReading, ...],
    predicted: Mapping[str, float],
) -> Section:
    """Measured on randomized rows, and what the model predicts for its moves."""
    if not names:
        text = (
            "The schema names no `guardrails`: whether another outcome falls is not looked at. "
            "Name some and fit."
        )
        return Section(title="Guardrails", missing=(text,))
    rows = {name: [name, "", "", "", "", "not measured"] for name in names}
    for name, change in predicted.items():
        rows[name][1] = signed(change)
    drawn = []
    figures = []
    for reading in readings:
        rows[reading.name][4:] = plain(reading.margin), reading.decision
        lift = reading.lift
        if lift is not None:
            rows[reading.name][2:4] = signed(lift.value), span(lift)
            drawn.append(bar(reading.name, lift, -reading.margin))
            figures.append(replace(lift, name=reading.name))
    text = f"Not every guardrail could be measured, for the reason given under “{TITLE}”."
    return Section(
        title="Guardrails",
        heads=GUARDRAIL_HEADS,
        rows=tuple(tuple(row) for row in rows.values()),
        drawn=tuple(drawn),
        figures=tuple(figures),
        missing=(text,) if len(figures) < len(names) else (),
    )


def _interval(advice: Advice) -> str:
    """That of the mean gain: of the sum, by the number of rows."""
    if advice.total is None or not advice.moved.any():
        return ""
    low, high = (
        (advice.total.gain + side * advice.total.half) / len(advice.gain)
        for side in (-1, 1)
    )
    return f", 95 % interval {signed(low)} to {signed(high)}"


def uplift_section(goal: str, advice: Advice, worth: Worth | None) -> Section:
    """What a launch is expected to bring, measured where possible,
    and whether promises are kept.
    """
    promised = mean_estimate("promised", advice.gain)
    promise = (
        f"For every unit's last row the model predicts {signed(promised.value)} {goal} a unit on "
        f"average{_interval(advice)}."
    )
    lift = None if worth is None else worth.lift
    if worth is None or lift is None:
        return Section(
            title="Expected uplift",
            lines=(promise,),
            figures=(promised,),
            missing=("This is the model's own prediction; no randomized rows confirm it.",),
        )
    measured = (
        f"Measured on {lift.n:,} randomized rows: {signed(lift.value)} {goal} a row over keeping "
        f"the mix, 95 % interval {span(lift)}. The model predicted {signed(worth.promised.value)} "
        "on these rows"
    )
    if worth.promised.value > 0:
        part = [
            plain(end / worth.promised.value) for end in (lift.value, lift.low, lift.high)
        ]
        measured += f"; {part[0]} of that was measured [{part[1]}, {part[2]}]"
    return Section(
        title="Expected uplift",
        lines=(f"{measured}.", promise),
        drawn=(bar("measured", lift), bar("predicted on these rows", worth.promised)),
        figures=(lift, promised, worth.promised),
    )
