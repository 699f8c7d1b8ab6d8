"""Before the test: the smallest effect it can find, or how many units it needs, from a table of earlier weeks."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import stats

from realloc.base.errors import ConfigError, LogError
from realloc.evaluate.abtest.arms import Arms, read_units
from realloc.evaluate.abtest.config import AbtestConfig, Metric
from realloc.evaluate.abtest.metrics import gather
from realloc.evaluate.abtest.parts import is_flat, unit_variance, variance_reduction
from realloc.evaluate.abtest.sequential import nominal_alpha

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What a test can tell of one metric."""

    metric: str
    sign: str  # of its effects: %, pt or nothing
    level: float  # before the test
    units: int  # randomized units or clusters in both arms
    effect: float  # found with probability `power`
    margin: (
        float | None
    )  # of a guardrail: told to hold with that probability, if it is above the effect
    power: float
    alpha: float  # two-sided, of the last look and with the goals' correction at its strictest
    variance_reduction: float  # expected of CUPED; NaN without it


@dataclass(frozen=True)
class TestPlan:
    """One row per metric."""

    planned: tuple[Planned, ...]
    what: str  # units or clusters

    def __getitem__(self, name: str) -> Planned:
        for row in self.planned:
            if row.metric == name:
                return row
        raise KeyError(f"Expected one of {[row.metric for row in self.planned]}, got {name!r}.")

    def __iter__(self) -> Iterator[Planned]:
        return iter(self.planned)

    def to_arrow(self) -> pa.Table:
        """The rows as a table."""
        return pa.Table.from_pylist([asdict(row) for row in self.planned])

    def to_frame(self) -> "pd.DataFrame":
        """The same as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_json(self) -> list[dict[str, Any]]:
        """The rows as plain values; what has no value is null."""
        return json.loads(json.dumps(self.to_arrow().to_pylist()), parse_constant=lambda _: None)

    def lines(self) -> list[str]:
        """One sentence per metric."""
        return [
            f"{row.metric}: {row.units:,} {self.what} find an effect of {row.effect:.3g}{row.sign and ' ' + row.sign} with "
            f"probability {row.power:.0%}{_saved(row)}.{_guarded(row)}"
            for row in self.planned
        ]


def plan_test(
    source: Any,
    config: AbtestConfig,
    units: int | None = None,
    power: float = 0.8,
    effect: float | None = None,
) -> TestPlan:
    """Plan from a table of the test's columns over a period as long as the test; `before` is what lies before that.

    Without `effect`: the smallest one found with probability `power` by `units` (those of the table unless given). With it,
    in percent, points or units as each metric says: how many units it takes.
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
    planned = tuple(
        _plan_metric(arms, metric, config, units, power, effect) for metric in config.metrics
    )
    return TestPlan(planned, "clusters" if config.cluster else "units")


def _plan_metric(
    arms: Arms,
    metric: Metric,
    config: AbtestConfig,
    units: int | None,
    power: float,
    effect: float | None,
) -> Planned:
    parts = gather(arms, metric)
    if parts.d.sum() <= 0:
        raise LogError(
            f"Expected a total of {metric.denominator!r} above 0, got {parts.d.sum():.4g}."
        )
    level, variance = parts.level, unit_variance(parts)
    if metric.effect == "percent" and level <= 0:
        raise LogError(
            f"Expected a level of metric {metric.name!r} above 0 for an effect in percent, got {level:.4g}. "
            f'Set effect = "absolute" in [abtest.metrics.{metric.name}].'
        )
    scale = (
        100 / level
        if metric.effect == "percent"
        else {"points": 100.0, "absolute": 1.0}[metric.effect]
    )
    if is_flat(parts):
        raise LogError(
            f"Expected values of metric {metric.name!r} that differ between units, but all are the same."
        )
    sure = Sureness(_strictest(metric, config), power, config.split)
    n = units or len(parts.y) if effect is None else needed_units(variance, effect / scale, sure)
    return Planned(
        metric=metric.name,
        sign=metric.sign,
        level=level,
        units=n,
        effect=smallest_effect(variance, n, sure) * scale,
        margin=metric.margin,
        power=power,
        alpha=sure.alpha,
        variance_reduction=variance_reduction(parts),
    )


@dataclass(frozen=True)
class Sureness:
    """How often a test may be wrong either way, and which part of its units is treated."""

    alpha: float
    power: float
    split: float


def smallest_effect(variance: float, units: float, sure: Sureness) -> float:
    """(t_{1−α/2} + t_power)·√(v/n_control + v/n_treatment), with Welch's degrees of freedom."""
    parts = 1 / np.array([1 - sure.split, sure.split]) / units  # 1/n of each arm
    freedom = parts.sum() ** 2 / (parts**2 / np.maximum(1 / parts - 1, 1)).sum()
    quantiles = stats.t.isf(sure.alpha / 2, freedom) + stats.t.ppf(sure.power, freedom)
    return float(quantiles * np.sqrt(variance * parts.sum()))


def needed_units(variance: float, effect: float, sure: Sureness) -> int:
    """The number of units whose smallest effect is this one."""
    units = 4.0
    for _ in range(
        50
    ):  # the effect falls with √units but for the quantiles, so that this converges at once
        units = max(units * (smallest_effect(variance, units, sure) / effect) ** 2, 4.0)
    return int(np.ceil(units))


def _strictest(metric: Metric, config: AbtestConfig) -> float:
    """What the last look leaves of α when a goal has to win against all others first."""
    goals = len(config.goals) if config.correction != "none" and not metric.is_guardrail else 1
    return nominal_alpha(config.looks, len(config.looks), config.alpha / goals)


def _saved(row: Planned) -> str:
    return (
        ""
        if np.isnan(row.variance_reduction)
        else f" (CUPED saves {row.variance_reduction:.0%} of the variance)"
    )


def _guarded(row: Planned) -> str:
    if row.margin is None:
        return ""
    enough = row.margin >= row.effect
    return (
        f" Its margin of {row.margin:g} is {'wide enough' if enough else 'too small'} to be told."
    )
