"""The effect on one metric: in percent, points or its own units,
with a delta-method interval and CUPED.

A metric is the ratio Σy/Σd over randomized units; a mean per unit has d = units in the cluster.
CUPED takes off θ·(Σx/Σw − the same over both arms), with θ from the linearised ratios of both arms
together. tea-tasting does both.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from realloc.base.errors import LogError
from realloc.base.numbers import plain, signed
from realloc.base.simplex import Floats, Mask
from realloc.evaluate.abtest.arms import Arms
from realloc.evaluate.abtest.config import Metric
from realloc.evaluate.result import NAN

if TYPE_CHECKING:
    from tea_tasting.aggr import Aggregates

FLAT = 1e-12  # relative spread below which a column counts as constant


@dataclass(frozen=True, eq=False)
class UnitTotals:
    """Numerator y, denominator d, and the same from before the test (x, w),
    one per randomized unit.
    """

    y: Floats
    d: Floats
    x: Floats | None = None
    w: Floats | None = None

    @property
    def columns(self) -> dict[str, Floats]:
        """Those that there are, by their letter."""
        return {name: values for name, values in vars(self).items() if values is not None}

    def take(self, rows: Mask) -> "UnitTotals":
        """Some of the units."""
        return UnitTotals(**{name: values[rows] for name, values in self.columns.items()})

    @property
    def level(self) -> float:
        """The metric itself."""
        return float(self.y.sum() / self.d.sum())

    @property
    def variance(self) -> float:
        """Of one unit's part in Σy/Σd (delta method), less what its past explains (CUPED)."""
        own = _linearised(self.y, self.d)
        if self.x is None or self.w is None:
            return float(own.var(ddof=1))
        spread = np.cov(own, _linearised(self.x, self.w))
        return float(spread[0, 0] - spread[0, 1] ** 2 / spread[1, 1])

    @property
    def variance_reduction(self) -> float:
        """The part of the variance that CUPED takes off; NaN without a past."""
        if self.x is None or self.is_flat:
            return NAN
        return 1 - self.variance / UnitTotals(self.y, self.d).variance

    @property
    def is_flat(self) -> bool:
        """Whether every unit has the same value, or the same ratio."""
        pull = np.abs(_linearised(self.y, self.d)).max() * self.d.mean()
        return bool(pull <= FLAT * max(np.abs(self.y).max(), 1e-300))


def _linearised(y: Floats, d: Floats) -> Floats:
    """Each unit's pull on Σy/Σd: (y − R·d) / mean d."""
    return (y - y.sum() / d.sum() * d) / d.mean()


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What the treatment did to one metric; `low` and `high` hold at the look at which they were
    taken.
    """

    metric: Metric = field(repr=False)
    control: float  # levels of the arms, after CUPED where that is used
    treatment: float
    value: float  # the effect in percent, points or units of the metric
    low: float
    high: float
    n: int  # randomized units
    p: float  # of no effect, as if this were the only look at the only metric
    variance_reduction: float  # by CUPED; NaN without it
    p_look: float = NAN  # allowing for the looks so far
    p_adjusted: float = NAN  # allowing for the other goals, too; NaN for guardrails
    decision: str = ""

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    @property
    def gain(self) -> tuple[float, float]:
        """The interval with its good side up."""
        return (
            (self.low, self.high)
            if self.metric.direction == "up"
            else (-self.high, -self.low)
        )

    def __str__(self) -> str:
        sign = self.metric.sign and f" {self.metric.sign}"
        return f"{self.name} {signed(self.value)}{sign} [{signed(self.low)}, {signed(self.high)}]"


def measure(arms: Arms, metric: Metric, confidence: float) -> Effect:
    """Compare the arms on one metric, at the level of what was randomized."""
    totals = gather(arms, metric)
    control = totals.take(~arms.cluster_treated)
    treatment = totals.take(arms.cluster_treated)
    for arm, part in (("control", control), ("treatment", treatment)):
        if part.d.sum() <= 0:
            raise LogError(
                f"Expected a total of {metric.denominator!r} above 0 in the {arm} arm, got "
                f"{plain(part.d.sum())}. The ratio {metric.name!r} has no value there."
            )
    if control.is_flat and treatment.is_flat:
        raise LogError(
            f"Expected values of metric {metric.name!r} that differ between units, but in each arm "
            "all are the same. Leave it out, or check how its column was made."
        )
    result = _compare(control, treatment, confidence)
    lower = min(result.control, result.treatment)
    if metric.effect == "percent" and lower <= 0:
        raise LogError(
            f"Expected a level of metric {metric.name!r} above 0 in both arms for an effect in "
            f"percent, got {plain(lower)}. "
            f'Set effect = "absolute" in [abtest.metrics.{metric.name}].'
        )
    kind = "rel_effect_size" if metric.effect == "percent" else "effect_size"
    scale = 1.0 if metric.effect == "absolute" else 100.0
    return Effect(
        metric=metric,
        control=float(result.control),
        treatment=float(result.treatment),
        value=scale * float(getattr(result, kind)),
        low=scale * float(getattr(result, f"{kind}_ci_lower")),
        high=scale * float(getattr(result, f"{kind}_ci_upper")),
        n=len(totals.y),
        p=float(result.pvalue),
        variance_reduction=totals.variance_reduction,
    )


def gather(arms: Arms, metric: Metric) -> UnitTotals:
    """Totals of a metric per randomized unit; a constant pre-period column is refused."""
    columns = [arms.total(name) for name in (*metric.measured, *metric.earlier)]
    if not metric.is_ratio:
        columns = [part for column in columns for part in (column, arms.size)]
    totals = UnitTotals(*columns)
    if totals.x is None or totals.w is None:
        return totals
    if totals.w.sum() <= 0:
        raise LogError(
            f"Expected a total above 0 of the pre-period column {metric.earlier[1]!r}, got "
            f"{plain(totals.w.sum())}."
        )
    if UnitTotals(totals.x, totals.w).is_flat:
        raise LogError(
            f"Expected values of the pre-period column {metric.earlier[0]!r} that differ between "
            "units, but all are the same. Leave it out of "
            f"[abtest.metrics.{metric.name}]: it explains nothing."
        )
    # A denominator of 0 is refused when the arms are compared.
    if totals.d.sum() > 0 and totals.variance_reduction > 1 - FLAT:
        raise LogError(
            f"Expected a pre-period column {metric.earlier[0]!r} from before the test, but it "
            f"explains metric {metric.name!r} to the last digit. It looks like a column of the "
            "test itself."
        )
    return totals


def _compare(control: UnitTotals, treatment: UnitTotals, confidence: float) -> Any:
    """tea-tasting's levels, difference and relative effect with intervals (Welch's t)
    and p-value.
    """
    from tea_tasting.metrics import RatioOfMeans

    metric = RatioOfMeans(
        *control.columns, equal_var=False, use_t=True, confidence_level=confidence
    )
    return metric.analyze_aggregates(_aggregate(control), _aggregate(treatment))


def _aggregate(totals: UnitTotals) -> "Aggregates":
    """Count, means and covariances: all that is needed of the units,
    and faster than from a table.
    """
    from tea_tasting.aggr import Aggregates

    names = list(totals.columns)
    spread = np.cov(list(totals.columns.values())).tolist()  # (2 or 4, the same)
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    return Aggregates(
        len(totals.y),
        {name: float(values.mean()) for name, values in totals.columns.items()},
        {name: spread[i][i] for i, name in enumerate(names)},
        {(names[i], names[j]): spread[i][j] for i, j in pairs},
    )
