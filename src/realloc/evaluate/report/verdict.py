"""Launch, test small, or do not launch: three rules, and the sentences that say why."""

from dataclasses import dataclass
from math import isfinite

from realloc.base.numbers import signed
from realloc.evaluate.report.section import span
from realloc.evaluate.result import Estimate

LAUNCH = "launch"
TEST_SMALL = "test small"
DO_NOT = "do not launch"
RULES = (
    "Do not launch: the log has an error, or the model moves nothing; or, on randomized rows, the "
    "whole interval of the lift over keeping the mix is below 0, or that of a guardrail is below "
    "what it may lose; or there is no such lift, and predicted gains rank matched moves worse "
    "than chance.",
    "Launch: none of that; and, on randomized rows that the model did not learn from, the whole "
    "interval of the lift over keeping the mix is above 0 and that of every guardrail above what "
    "it may lose; nearly all recommended moves were among those drawn; and predicted gains do not "
    "rank worse than chance.",
    "Test small: everything else. Run an A/B test on a small part of the units (`realloc "
    "abtest`).",
)


@dataclass(frozen=True)
class GuardrailReading:
    """A guardrail, what it may lose a row, and its lift over keeping the mix where that was
    measured.
    """

    name: str
    margin: float
    lift: Estimate | None

    @property
    def decision(self) -> str:
        """Held where the whole interval is above −margin, broken where the whole of it is below."""
        if self.lift is None:
            return "not measured"
        if self.lift.low > -self.margin:
            return "held"
        return "broken" if self.lift.high < -self.margin else "inconclusive"

    def __str__(self) -> str:
        if self.lift is None:
            return f"The guardrail {self.name} could not be measured."
        about = (
            f"({signed(self.lift.value)} a row {span(self.lift)}, may lose {self.margin:g})"
        )
        if self.decision == "inconclusive":
            return (
                f"The effect on {self.name} is inconclusive {about}. Collect more randomized rows, "
                "or set a margin in [report]."
            )
        return f"The guardrail {self.name} is {self.decision} {about}."


@dataclass(frozen=True, kw_only=True)
class VerdictEvidence:
    """All that the rules look at."""

    goal: str  # its name
    errors: tuple[str, ...] = ()  # of the log check
    moved: int = 0  # units that would be moved
    why_kept: tuple[str, ...] = ()  # where none is: reasons, and what would help
    lift: Estimate | None = None  # over keeping the mix, on randomized rows
    why_no_lift: str = ""
    is_new: bool = False  # the model did not learn from the rows of the lift
    # Part of the randomized rows whose recommended move was never drawn.
    off_menu: float = 0.0
    most_off_menu: float = 0.2
    guardrails: tuple[GuardrailReading, ...] = ()
    rho: Estimate | None = None  # of the ranking

    @property
    def ranks_badly(self) -> bool:
        """Whether predicted gains rank matched moves worse than chance."""
        return self.rho is not None and isfinite(self.rho.high) and self.rho.high < 0

    def guardrails_that(self, *decisions: str) -> list[str]:
        """Sentences on the guardrails of these decisions."""
        return [
            str(reading) for reading in self.guardrails if reading.decision in decisions
        ]

    def about(self, lift: Estimate) -> str:
        """The lift as the end of a sentence."""
        gain = f"{signed(lift.value)} {self.goal} a row"
        return f"{gain} over keeping the mix, 95 % interval {span(lift)}."


@dataclass(frozen=True)
class Verdict:
    """What to do and why."""

    decision: str
    reasons: tuple[str, ...]


def conclude(evidence: VerdictEvidence) -> Verdict:
    """The first rule that applies, with its reasons."""
    against = _against(evidence)
    if against:
        return Verdict(DO_NOT, tuple(against))
    obstacles = _obstacles(evidence)
    decision = TEST_SMALL if obstacles else LAUNCH
    return Verdict(decision, (*obstacles, *_in_favour(evidence)))


def _against(evidence: VerdictEvidence) -> list[str]:
    """What forbids any use."""
    reasons = [f"The log has an error: {error}" for error in evidence.errors]
    if evidence.moved == 0:
        reasons.append("The model moves nothing, so there is nothing to launch.")
        reasons += evidence.why_kept
    lift = evidence.lift
    if lift is not None and lift.high < 0:
        reasons.append(
            f"On {lift.n:,} randomized rows the moves lose: {evidence.about(lift)}"
        )
    reasons += evidence.guardrails_that("broken")
    if lift is None and evidence.ranks_badly:
        reasons.append(
            "No lift could be measured, and predicted gains rank matched moves worse than chance."
        )
    return reasons


def _obstacles(evidence: VerdictEvidence) -> list[str]:
    """What keeps from a launch."""
    lift = evidence.lift
    if lift is None:  # without any measurement, this says it all
        text = "No lift over keeping the mix was measured, so at most a small test."
        return [f"{text} {evidence.why_no_lift}".strip()]
    reasons: list[str] = []
    if not lift.low > 0:
        reasons.append(
            f"On {lift.n:,} randomized rows the gain is not distinguishable from 0: "
            f"{evidence.about(lift)}"
        )
    if not evidence.is_new:
        reasons.append(
            "The model learned from the randomized rows, so their lift flatters it. Evaluate on "
            "later rows."
        )
    if evidence.off_menu > evidence.most_off_menu:
        reasons.append(
            f"{evidence.off_menu:.0%} of the recommended moves were never drawn at random (at most "
            f"{evidence.most_off_menu:.0%} may be), so nothing is known about them. Explore such "
            "moves, or forbid them."
        )
    reasons += evidence.guardrails_that("not measured", "broken", "inconclusive")
    if evidence.ranks_badly:
        reasons.append(
            "On routine traffic, predicted gains rank matched moves worse than chance."
        )
    return reasons


def _in_favour(evidence: VerdictEvidence) -> list[str]:
    """What speaks for the model."""
    reasons: list[str] = []
    lift = evidence.lift
    if lift is not None and lift.low > 0:
        unseen = "that the model did not learn from " if evidence.is_new else ""
        reasons.append(
            f"On {lift.n:,} randomized rows {unseen}the moves gain: {evidence.about(lift)}"
        )
    reasons += evidence.guardrails_that("held")
    rho = evidence.rho
    if rho is not None and rho.low > 0:
        reasons.append(
            f"Predicted gains rank {rho.n:,} matched moves better than chance: ρ = {rho.value:.3f} "
            f"{span(rho)}."
        )
    return reasons
