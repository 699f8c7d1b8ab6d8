"""The effect on one metric: in percent, points or its own units, with a delta-method interval and CUPED."""

from dataclasses import dataclass, field
from typing import Any

from realloc.base.errors import LogError
from realloc.evaluate.abtest.arms import Arms
from realloc.evaluate.abtest.config import Metric
from realloc.evaluate.abtest.parts import FLAT, Parts, is_flat, variance_reduction
from realloc.evaluate.abtest.tasting import compare


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What the treatment did to one metric; `low` and `high` hold at the look at which they were taken."""

    metric: Metric = field(repr=False)
    control: float  # levels of the arms, after CUPED where that is used
    treatment: float
    value: float  # the effect in percent, points or units of the metric
    low: float
    high: float
    n: int  # randomized units
    p: float  # of no effect, as if this were the only look at the only metric
    variance_reduction: float  # by CUPED; NaN without it
    p_look: float = float("nan")  # allowing for the looks so far
    p_adjusted: float = float("nan")  # allowing for the other goals, too; NaN for guardrails
    decision: str = ""

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    @property
    def gain(self) -> tuple[float, float]:
        """The interval with its good side up."""
        return (self.low, self.high) if self.metric.direction == "up" else (-self.high, -self.low)

    def __str__(self) -> str:
        sign = self.metric.sign and f" {self.metric.sign}"
        return f"{self.name} {self.value:+.3g}{sign} [{self.low:+.3g}, {self.high:+.3g}]"


def measure(arms: Arms, metric: Metric, confidence: float) -> Effect:
    """Compare the arms on one metric, at the level of what was randomized."""
    parts, treated = gather(arms, metric), arms.cluster_treated
    control, treatment = parts.take(~treated), parts.take(treated)
    for name, arm in (("control", control), ("treatment", treatment)):
        _check_denominator(metric, name, arm)
    if is_flat(control) and is_flat(treatment):
        raise LogError(
            f"Expected values of metric {metric.name!r} that differ between units, but in each arm all are the same. "
            "Leave it out, or check how its column was made."
        )
    found = compare(control, treatment, confidence)
    if metric.effect == "percent" and min(found.control, found.treatment) <= 0:
        raise LogError(
            f"Expected a level of metric {metric.name!r} above 0 in both arms for an effect in percent, got "
            f'{min(found.control, found.treatment):.4g}. Set effect = "absolute" in [abtest.metrics.{metric.name}].'
        )
    value, low, high = _in_units(metric, found)
    return Effect(
        metric=metric,
        control=float(found.control),
        treatment=float(found.treatment),
        value=value,
        low=low,
        high=high,
        n=len(treated),
        p=float(found.pvalue),
        variance_reduction=variance_reduction(parts),
    )


def gather(arms: Arms, metric: Metric) -> Parts:
    """Numerator and denominator per randomized unit; a constant pre-period column is refused."""
    if metric.is_ratio:
        y, d = (arms.total(name) for name in metric.measured)
        earlier = [arms.total(name) for name in metric.earlier]
    else:
        y, d = arms.total(metric.measured[0]), arms.size
        earlier = [arms.total(metric.earlier[0]), arms.size] if metric.earlier else []
    if not earlier:
        return Parts(y, d)
    if earlier[1].sum() <= 0:
        raise LogError(
            f"Expected a total above 0 of the pre-period column {metric.earlier[1]!r}, got {earlier[1].sum():.4g}."
        )
    if is_flat(Parts(earlier[0], earlier[1])):
        raise LogError(
            f"Expected values of the pre-period column {metric.earlier[0]!r} that differ between units, but all are the same. "
            f"Leave it out of [abtest.metrics.{metric.name}]: it explains nothing."
        )
    parts = Parts(y, d, *earlier)
    if (
        d.sum() > 0 and variance_reduction(parts) > 1 - FLAT
    ):  # without a denominator it is refused by who compares
        raise LogError(
            f"Expected a pre-period column {metric.earlier[0]!r} from before the test, but it explains metric "
            f"{metric.name!r} to the last digit. It looks like a column of the test itself."
        )
    return parts


def _in_units(metric: Metric, found: Any) -> tuple[float, float, float]:
    if metric.effect == "percent":
        names, scale = (
            ("rel_effect_size", "rel_effect_size_ci_lower", "rel_effect_size_ci_upper"),
            100.0,
        )
    else:
        names = ("effect_size", "effect_size_ci_lower", "effect_size_ci_upper")
        scale = 100.0 if metric.effect == "points" else 1.0
    value, low, high = (scale * float(getattr(found, name)) for name in names)
    return value, low, high


def _check_denominator(metric: Metric, arm: str, parts: Parts) -> None:
    if parts.d.sum() <= 0:
        raise LogError(
            f"Expected a total of {metric.denominator!r} above 0 in the {arm} arm, got {parts.d.sum():.4g}. "
            f"The ratio {metric.name!r} has no value there."
        )
