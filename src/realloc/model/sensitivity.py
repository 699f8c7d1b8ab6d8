"""Would a cause that nobody recorded undo what a batch gains? `model.sensitivity(today)`.

Recorded features show what is strong: a hidden cause as strong as one of them, or twice.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from realloc.base.errors import LogError
from realloc.base.numbers import counted, percent, readable
from realloc.base.simplex import Floats
from realloc.decide.robustness import RobustnessSum, offset_of
from realloc.decide.types import MOVED, Decision
from realloc.learn.hidden_cause import FeatureStrength, HiddenCauses

FARTHEST = 100.0  # times a feature that are tried


@dataclass(frozen=True)
class ComparedFeature:
    """A hidden cause beside a recorded feature.

    `gain_left` and `moves_left` (of the moved rows) are what a cause as strong as the feature
    leaves for certain; `times` is how many times as strong it must be to undo the total gain.
    """

    feature: str
    of_outcome: float
    of_moves: float
    gain_left: float
    moves_left: float
    times: float


@dataclass(frozen=True)
class Sensitivity:
    """How strong a hidden cause must be to undo the gain of all moves together."""

    moved: int
    gain: float
    robustness: float  # of the total
    median: float  # of single moves
    features: tuple[ComparedFeature, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """As sentences."""
        if not self.moved:
            return ["Nothing is moved, so there is no gain that a hidden cause could undo."]
        lines = [
            say_robustness(self.gain, self.robustness),
            f"Of {counted(self.moved, 'move')}, half withstand {percent(self.median)} each.",
        ]
        if self.features:
            first = self.features[0]
            times = "more than 100" if first.times >= FARTHEST else f"{first.times:.1f}"
            lines.append(
                f"Beside {first.feature!r}, the strongest recorded feature: a hidden cause as "
                f"strong leaves at least {readable(first.gain_left)}; {times} times as strong "
                "would undo it."
            )
        return lines


def say_robustness(gain: float, robustness: float) -> str:
    """The robustness of a total gain in words."""
    return (
        f"To undo the total gain of {readable(gain)}, a hidden cause would have to explain "
        f"{percent(robustness)} of what is left of the outcome and of the moves."
    )


def judge_sensitivity(decision: Decision, hidden: HiddenCauses | None) -> Sensitivity:
    """Of decisions, beside the features of what was learned."""
    if hidden is None:
        raise LogError(
            "Expected a model that was fitted with residuals of its log, but this one decides "
            "without them, so what a hidden cause could do is not known."
        )
    moved = np.isin(decision.reason, MOVED) & (decision.gain > 0)
    gain = decision.gain[moved]
    robustness = decision.further["robustness"][moved]
    total = RobustnessSum.of(gain, robustness)
    offset = offset_of(gain, robustness)
    return Sensitivity(
        moved=int(moved.sum()),
        gain=total.gain,
        robustness=total.robustness,
        median=float(np.median(robustness)) if moved.any() else 0.0,
        features=tuple(_compare(one, total, gain, offset) for one in hidden.features),
    )


def _compare(
    feature: FeatureStrength, total: RobustnessSum, gain: Floats, offset: Floats
) -> ComparedFeature:
    strength = feature.times(1.0)
    left = gain - strength * offset
    return ComparedFeature(
        feature=feature.name,
        of_outcome=feature.of_outcome,
        of_moves=feature.of_moves,
        gain_left=total.gain - strength * total.offset,
        moves_left=float((left > 0).mean()) if len(left) else 0.0,
        times=_times(feature, total),
    )


def _times(feature: FeatureStrength, total: RobustnessSum) -> float:
    """How many times as strong as the feature a cause must be to undo the total, by bisection."""
    low, high = 0.0, FARTHEST
    for _ in range(40):
        middle = (low + high) / 2
        if feature.times(middle) * total.offset < total.gain:
            low = middle
        else:
            high = middle
    return high
