"""What the recommended moves are worth on randomized rows, to the goal and to every guardrail."""

from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats
from realloc.evaluate.agreement import agreement_lift
from realloc.evaluate.events import Events, at_previous
from realloc.evaluate.outcome_model import OutcomeModel, fit_outcome_model
from realloc.evaluate.randomized import Randomized, RandomizedMoves
from realloc.evaluate.report.advice import advise
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.section import Section, bar, plain, signed, span
from realloc.evaluate.report.traffic import Drawn
from realloc.evaluate.report.verdict import GuardrailReading
from realloc.evaluate.result import Estimate, mean_estimate
from realloc.evaluate.value import CANNOT, PolicyValue, policy_value, smoothed_value
from realloc.evaluate.weights import target_shares
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc

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
LIFTS = ("dr_lift_over_hold", "dr_lift", "clipped_dr_lift", "self_normalised_dr_lift", "snips_lift")


@dataclass(frozen=True, eq=False)
class Worth:
    """The value of the moves, their agreement, what the model promised on the same rows, and the guardrails."""

    value: PolicyValue
    agreement: Estimate | None
    promised: Estimate
    guardrails: tuple[GuardrailReading, ...]
    notes: tuple[str, ...]

    @property
    def lift(self) -> Estimate | None:
        """Over keeping the mix; None where it cannot be told."""
        lift = self.value["dr_lift_over_hold"]
        return lift if isfinite(lift.low) else None

    @property
    def why_not(self) -> str:
        """Why there is no lift over keeping the mix."""
        if self.value.verdict == CANNOT:
            return f"The value cannot be told: {self.value.reason}"
        return "Keeping the mix was not possible in every randomized row, so the lift over it cannot be told."


def measure_worth(
    model: ReAlloc,
    logs: Logs,
    events: Events,
    drawn: Drawn,
    config: ReportConfig,
    progress: Progress = silent,
) -> Worth:
    """Ask the model at the shares before the draw, then value its answer with what was drawn."""
    steps = 3 + len(logs.schema.guardrails)
    advice = advise(model, at_previous(logs, events, drawn.at), progress)
    shares = np.where(
        advice.moved[:, None], advice.shares, drawn.rows.start
    )  # rounding is no direction
    progress("value", 1, steps)
    rows = replace(drawn.rows, outcome=goal_of(model, logs)[drawn.at])
    outcome_model = fit_outcome_model(rows)
    value = _value(rows, shares, outcome_model, config)
    progress("value", 2, steps)
    guarded: list[GuardrailReading] = []
    for i, name in enumerate(logs.schema.guardrails):
        own = replace(rows, outcome=logs.guardrail(name)[drawn.at])
        lift = _value(own, shares, None, config)["dr_lift_over_hold"]
        guarded.append(
            GuardrailReading(
                name, margin_of(model, config, name), lift if isfinite(lift.low) else None
            )
        )
        progress("value", 3 + i, steps)
    try:
        agreement = agreement_lift(rows, shares, outcome_model)["agreement_lift"]
    except ConfigError:  # a density that is known at the drawn shares only
        agreement = None
    progress("value", steps, steps)
    promised = mean_estimate("promised", advice.gain, rows.unit)
    return Worth(value, agreement, promised, tuple(guarded), drawn.notes)


def goal_of(model: ReAlloc, logs: Logs) -> Floats:
    """What decisions aim at: the outcome, or the weighted sum of `weights` of [decision]."""
    weights = model.config.decision.weights
    if not weights:
        return np.asarray(logs.outcome)
    parts = {
        logs.schema.outcome: logs.outcome,
        **{name: logs.guardrail(name) for name in logs.schema.guardrails},
    }
    return np.sum([weight * parts[name] for name, weight in weights.items()], axis=0)


def goal_name(model: ReAlloc) -> str:
    """The outcome's name, or what it is part of."""
    weights = model.config.decision.weights
    return (
        " + ".join(f"{weight:g} {name}" for name, weight in weights.items())
        if weights
        else model.known_schema.outcome
    )


def margin_of(model: ReAlloc, config: ReportConfig, name: str) -> float:
    """What a guardrail may lose a row: of [report], else of [decision], else nothing."""
    return config.margins.get(name, model.config.decision.tolerances.get(name, 0.0))


def worth_section(worth: Worth, new: bool) -> Section:
    """Every number of the value, and how the rows were drawn."""
    found = {estimate.name: estimate for estimate in worth.value.estimates}
    if worth.agreement is not None:
        found["agreement_lift"] = worth.agreement
    rows = tuple(
        (label, *_shown(found[name]), f"{found[name].n:,}")
        for name, label in LABELS.items()
        if name in found and isfinite(found[name].value)
    )
    notes = (
        worth.notes
        if new
        else (*worth.notes, "The model learned from these rows, so the value flatters it.")
    )
    missing = () if worth.lift is not None else (worth.why_not,)
    drawn = tuple(bar(LABELS[name], found[name]) for name in LIFTS)
    return Section(
        title=TITLE,
        lines=notes,
        heads=("figure", "value", "95 % interval", "n"),
        rows=rows,
        drawn=drawn,
        figures=tuple(found.values()),
        missing=missing,
    )


def _shown(estimate: Estimate) -> tuple[str, str]:
    """Lifts have signs; rates and sizes have none."""
    if "lift" in estimate.name:
        return signed(estimate.value), span(estimate)
    return plain(estimate.value), span(estimate, signs=False)


def guardrail_section(
    guarded: tuple[GuardrailReading, ...], predicted: dict[str, float]
) -> Section:
    """Measured on randomized rows, and what the model predicts for its moves."""
    if not predicted:
        return Section(
            title="Guardrails",
            missing=(
                "The schema names no `guardrails`: whether another outcome falls is not looked at. Name some and fit.",
            ),
        )
    measured = {one.name: one for one in guarded}
    rows: list[tuple[str, ...]] = []
    for name, change in predicted.items():
        one = measured.get(name)
        lift = None if one is None else one.lift
        rows.append(
            (
                name,
                signed(change),
                "" if lift is None else signed(lift.value),
                "" if lift is None else span(lift),
                "" if one is None else plain(one.margin),
                "not measured" if one is None else one.decision,
            )
        )
    known = [one for one in guarded if one.lift is not None]
    missing = (
        ()
        if len(known) == len(predicted)
        else (f"Not every guardrail could be measured, for the reason given under “{TITLE}”.",)
    )
    return Section(
        title="Guardrails",
        heads=(
            "guardrail",
            "predicted a unit",
            "measured a row",
            "95 % interval",
            "may lose",
            "decision",
        ),
        rows=tuple(rows),
        drawn=tuple(bar(one.name, one.lift, -one.margin) for one in known if one.lift is not None),
        figures=tuple(replace(one.lift, name=one.name) for one in known if one.lift is not None),
        missing=missing,
    )


def uplift_section(
    goal: str, promised_today: Estimate, lower_today: float, worth: Worth | None
) -> Section:
    """What a launch is expected to bring, measured where possible, and whether the model keeps its promises."""
    promise = (
        f"For every unit's last row the model promises {signed(promised_today.value)} {goal} a unit on average, and at least "
        f"{signed(lower_today)} if every lower value holds."
    )
    lift = None if worth is None else worth.lift
    if worth is None or lift is None:
        return Section(
            title="Expected uplift",
            lines=(promise,),
            figures=(promised_today,),
            missing=("This is the model's own word: no randomized rows confirm it.",),
        )
    kept = f" The model promised {signed(worth.promised.value)} on these rows"
    if worth.promised.value > 0:
        found, low, high = (
            plain(end / worth.promised.value) for end in (lift.value, lift.low, lift.high)
        )
        kept += f"; {found} of it is found [{low}, {high}]"
    measured = (
        f"Measured on {lift.n:,} randomized rows: {signed(lift.value)} {goal} a row over keeping the mix, 95 % interval "
        f"{span(lift)}.{kept}."
    )
    return Section(
        title="Expected uplift",
        lines=(measured, promise),
        drawn=(bar("measured", lift), bar("promised on these rows", worth.promised)),
        figures=(lift, promised_today, worth.promised),
    )


def _value(
    rows: Randomized, shares: Floats, model: OutcomeModel | None, config: ReportConfig
) -> PolicyValue:
    if isinstance(rows, RandomizedMoves):
        return policy_value(rows, target_shares(rows, shares, config.tolerance), model)
    return smoothed_value(rows, shares, model)
