"""From intervals to decisions: of each metric, then of the whole test in one sentence."""

from collections.abc import Sequence

from realloc.evaluate.abtest.config import AbtestConfig
from realloc.evaluate.abtest.metrics import Effect
from realloc.evaluate.abtest.split import SplitCheck

LAUNCH, KEEP, GO_ON, NONE = "launch", "keep_control", "go_on", "no_verdict"
KINDS = ("better", "worse", "no difference found", "held", "broken", "cannot be told")


def decide_goal(effect: Effect, alpha: float) -> str:
    """Better or worse where the p-value, adjusted for looks and goals, is below α."""
    if effect.p_adjusted >= alpha:
        return "no difference found"
    return "better" if (effect.value > 0) == (effect.metric.direction == "up") else "worse"


def decide_guardrail(effect: Effect) -> str:
    """Non-inferiority: held where the whole interval is above −margin, broken where the whole of it is below.

    All guardrails have to hold, so none needs a correction for the others.
    """
    low, high = effect.gain
    margin = effect.metric.margin or 0.0
    if low > -margin:
        return "held"
    return "broken" if high < -margin else "cannot be told"


def conclude(split: SplitCheck, effects: Sequence[Effect], config: AbtestConfig) -> tuple[str, str]:
    """The decision and the sentence that gives its reasons."""
    if not split.ok:
        return NONE, f"No winner may be called. {split}"
    by = {kind: [effect for effect in effects if effect.decision == kind] for kind in KINDS}
    won, unsure = by["better"] or not config.goals, by["cannot be told"]
    if by["broken"] or by["worse"]:
        return KEEP, f"Keep control: {_list([*by['broken'], *by['worse']])}."
    if won and not unsure:
        head = "Treatment wins" if config.goals else "Nothing is lost"
        return LAUNCH, f"{head}: {_list([*by['better'], *by['held']])}."
    if by["better"]:
        return (
            GO_ON,
            f"No launch yet: {_list(by['better'])}, but {_list(unsure)}. More units or days would tell.",
        )
    if config.look_number < len(config.looks):
        return (
            GO_ON,
            f"Go on: look {config.look_number} of {len(config.looks)} and nothing is told yet.",
        )
    return (
        KEEP,
        f"No difference found: {_list([*by['no difference found'], *unsure])}. Control stays.",
    )


def _list(effects: Sequence[Effect]) -> str:
    return "; ".join(f"{effect} {_about(effect)}" for effect in effects)


def _about(effect: Effect) -> str:
    if not effect.metric.is_guardrail:
        return effect.decision
    sign = effect.metric.sign and f" {effect.metric.sign}"
    return f"{effect.decision} (may lose {effect.metric.margin:g}{sign})"
