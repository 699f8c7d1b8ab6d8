"""From intervals to decisions: of each metric, then of the whole test in one sentence."""

from collections.abc import Sequence

from realloc.base.numbers import plain
from realloc.evaluate.abtest.config import AbtestConfig
from realloc.evaluate.abtest.metrics import Effect
from realloc.evaluate.abtest.split import SplitCheck

LAUNCH = "launch"
KEEP = "keep_control"
GO_ON = "go_on"
NONE = "no_verdict"


def decide(effect: Effect, alpha: float) -> str:
    """A goal is better or worse where its p-value, adjusted for looks and goals, is below α.

    A guardrail is held (not inferior) where its whole interval is above −margin, and broken where
    the whole of it is below. All guardrails have to hold, so none needs a correction for the
    others.
    """
    margin = effect.metric.margin
    if margin is None:
        if effect.p_adjusted >= alpha:
            return "no difference found"
        return (
            "better" if (effect.value > 0) == (effect.metric.direction == "up") else "worse"
        )
    low, high = effect.gain
    if low > -margin:
        return "held"
    return "broken" if high < -margin else "inconclusive"


def conclude(
    split: SplitCheck, effects: Sequence[Effect], config: AbtestConfig
) -> tuple[str, str]:
    """The decision and the sentence that gives its reasons."""

    def listed(*decisions: str) -> str:
        """The effects of these decisions, as a list in words."""
        return "; ".join(
            _describe(effect)
            for decision in decisions
            for effect in effects
            if effect.decision == decision
        )

    if not split.ok:
        return NONE, f"No winner may be called. {split}"
    lost = listed("broken", "worse")
    won = listed("better")
    unsure = listed("inconclusive")
    if lost:
        return KEEP, f"Keep control: {lost}."
    if not unsure and (won or not config.goals):
        head = "Treatment wins" if config.goals else "Nothing is lost"
        return LAUNCH, f"{head}: {listed('better', 'held')}."
    if won:
        return GO_ON, f"No launch yet: {won}, but {unsure}. More units or days are needed."
    looks = len(config.looks)
    if config.look_number < looks:
        return (
            GO_ON,
            f"Go on: look {config.look_number} of {looks} and nothing is conclusive yet.",
        )
    rest = listed("no difference found", "inconclusive")
    return KEEP, f"No difference found: {rest}. Control stays."


def _describe(effect: Effect) -> str:
    if not effect.metric.is_guardrail:
        return f"{effect} {effect.decision}"
    margin = f"{plain(effect.metric.margin or 0.0)} {effect.metric.sign}".strip()
    return f"{effect} {effect.decision} (may lose {margin})"
