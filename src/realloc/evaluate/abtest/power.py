"""Before the test: the smallest effect it can find, or how many units it needs,
from earlier weeks.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import stats

from realloc.base.errors import ConfigError, LogError
from realloc.base.numbers import plain
from realloc.evaluate.abtest.arms import Arms, read_units
from realloc.evaluate.abtest.config import AbtestConfig, Metric
from realloc.evaluate.abtest.metrics import gather
from realloc.evaluate.abtest.sequential import nominal_alpha
from realloc.evaluate.result import pick, without_nan

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class PlannedMetric:
    """What a test can tell of one metric."""

    metric: str
    sign: str  # of its effects: %, pt or nothing
    level: float  # before the test
    units: int  # randomized units or clusters in both arms
    effect: float  # found with probability `power`
    # of a guardrail: told to hold with that probability, if above the effect
    margin: float | None
    power: float
    # Two-sided, of the last look and with the goals' correction at its strictest.
    alpha: float
    variance_reduction: float  # expected of CUPED; NaN without it

    def describe(self, kind: str) -> str:
        """One sentence, and one more on the margin of a guardrail; `kind` is units or clusters."""
        effect = f"{plain(self.effect)} {self.sign}".strip()
        text = f"{self.metric}: {self.units:,} {kind} find an effect of {effect}"
        text += f" with probability {self.power:.0%}"
        if not np.isnan(self.variance_reduction):
            text += f" (CUPED saves {self.variance_reduction:.0%} of the variance)"
        if self.margin is None:
            return f"{text}."
        enough = "wide enough" if self.margin >= self.effect else "too small"
        return f"{text}. Its margin of {plain(self.margin)} is {enough} to be detected."


@dataclass(frozen=True)
class TestPlan:
    """One row per metric."""

    planned: tuple[PlannedMetric, ...]
    kind: str  # units or clusters

    def __getitem__(self, name: str) -> PlannedMetric:
        return pick({row.metric: row for row in self.planned}, name)

    def __iter__(self) -> Iterator[PlannedMetric]:
        return iter(self.planned)

    def to_frame(self) -> "pd.DataFrame":
        """The rows as a pandas frame."""
        return pa.Table.from_pylist([asdict(row) for row in self.planned]).to_pandas()

    def to_json(self) -> list[dict[str, Any]]:
        """The rows as plain values; what has no value is null."""
        return without_nan([asdict(row) for row in self.planned])

    def __str__(self) -> str:
        return "\n".join(row.describe(self.kind) for row in self.planned)


@dataclass(frozen=True)
class ErrorRates:
    """How often a test may be wrong either way, and which part of its units is treated."""

    alpha: float
    power: float
    split: float


def plan_test(
    source: Any,
    config: AbtestConfig,
    units: int | None = None,
    power: float = 0.8,
    effect: float | None = None,
) -> TestPlan:
    """Plan from a table of the test's columns over a period as long as the test.

    `before` is what lies before that period. Without `effect`: the smallest one found with
    probability `power` by `units` (those of the table unless given). With it, in percent, points or
    units as each metric says: how many units it takes.
    """
    if not 0.05 < power < 1:
        raise ConfigError(f"Expected `power` between 0.05 and 1, got {power}.")
    if effect is not None and (effect <= 0 or units is not None):
        raise ConfigError(
            "Expected `effect` above 0 and without `units`: one of them follows from the other."
        )
    if units is not None and units < 4:
        raise ConfigError(f"Expected at least 4 `units` in a test, got {units}.")
    arms = read_units(source, config)
    planned: list[PlannedMetric] = []
    for metric in config.metrics:
        # A goal has to win against all others first, at what the last look leaves of α.
        rivals = (
            1 if metric.is_guardrail or config.correction == "none" else len(config.goals)
        )
        alpha = nominal_alpha(config.looks, len(config.looks), config.alpha / rivals)
        rates = ErrorRates(alpha, power, config.split)
        planned.append(_plan_metric(arms, metric, rates, units, effect))
    return TestPlan(tuple(planned), "clusters" if config.cluster else "units")


def _plan_metric(
    arms: Arms, metric: Metric, rates: ErrorRates, units: int | None, effect: float | None
) -> PlannedMetric:
    totals = gather(arms, metric)
    if totals.d.sum() <= 0:
        raise LogError(
            f"Expected a total of {metric.denominator!r} above 0, got {plain(totals.d.sum())}."
        )
    level = totals.level
    if metric.effect == "percent" and level <= 0:
        raise LogError(
            f"Expected a level of metric {metric.name!r} above 0 for an effect in percent, got "
            f'{plain(level)}. Set effect = "absolute" in [abtest.metrics.{metric.name}].'
        )
    if totals.is_flat:
        raise LogError(
            f"Expected values of metric {metric.name!r} that differ between units, but all are the "
            "same."
        )
    scale = 1.0 if metric.effect == "absolute" else 100.0
    if metric.effect == "percent":
        scale /= level
    n = units or len(totals.y)
    if effect is not None:
        n = needed_units(totals.variance, effect / scale, rates)
    return PlannedMetric(
        metric=metric.name,
        sign=metric.sign,
        level=level,
        units=n,
        effect=smallest_effect(totals.variance, n, rates) * scale,
        margin=metric.margin,
        power=rates.power,
        alpha=rates.alpha,
        variance_reduction=totals.variance_reduction,
    )


def smallest_effect(variance: float, units: float, rates: ErrorRates) -> float:
    """(t_{1−α/2} + t_power)·√(v/n_control + v/n_treatment), with Welch's degrees of freedom."""
    parts = 1 / np.array([1 - rates.split, rates.split]) / units  # 1/n of each arm
    freedom = parts.sum() ** 2 / (parts**2 / np.maximum(1 / parts - 1, 1)).sum()
    quantiles = stats.t.isf(rates.alpha / 2, freedom) + stats.t.ppf(rates.power, freedom)
    return float(quantiles * np.sqrt(variance * parts.sum()))


def needed_units(variance: float, effect: float, rates: ErrorRates) -> int:
    """The number of units whose smallest effect is this one."""
    units = 4.0
    # The effect falls with √units but for the quantiles, so that this converges at once.
    for _ in range(50):
        units = max(units * (smallest_effect(variance, units, rates) / effect) ** 2, 4.0)
    return int(np.ceil(units))
