"""What a randomized test is: its arms, its metrics,
how sure to be and when it is looked at (table `[abtest]`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from realloc.base.errors import ConfigError
from realloc.base.validation import (
    Checked,
    check_known,
    check_range,
    check_types,
    from_table,
)

EFFECTS = {"percent": "%", "points": "pt", "absolute": ""}
DIRECTIONS = ("up", "down")
CORRECTIONS = ("holm", "benjamini_hochberg", "none")


@dataclass(frozen=True, kw_only=True)
class Metric(Checked):
    """A mean per unit (`value`) or a ratio of totals (`numerator` / `denominator`),
    and what would be good of it.
    """

    name: str
    value: str | None = None  # column, summed over a unit's rows
    numerator: str | None = None
    denominator: str | None = None
    before: str | None = None  # the same from before the test, one number per unit: CUPED
    numerator_before: str | None = None
    denominator_before: str | None = None
    # percent: of the control's level; points: a difference of rates × 100; absolute: a difference
    effect: str = "percent"
    direction: str = "up"  # which way is good
    # Makes it a guardrail: the most it may lose, in units of the effect.
    margin: float | None = None

    def __post_init__(self) -> None:
        where = f"[abtest.metrics.{self.name}]"
        check_types(self, where)
        if (self.value is None) == (self.numerator is None) or (self.numerator is None) != (
            self.denominator is None
        ):
            raise ConfigError(
                f"Expected either `value` or both `numerator` and `denominator` in {where}."
            )
        if (self.numerator_before is None) != (self.denominator_before is None):
            raise ConfigError(
                f"Expected both `numerator_before` and `denominator_before` in {where}, got one of "
                "them."
            )
        if (self.before if self.is_ratio else self.numerator_before) is not None:
            wanted = (
                "`numerator_before` and `denominator_before`"
                if self.is_ratio
                else "`before`"
            )
            raise ConfigError(
                f"Expected {wanted} in {where}, as this metric is a "
                f"{'ratio' if self.is_ratio else 'mean'}."
            )
        for key, given, known in (
            ("effect", self.effect, EFFECTS),
            ("direction", self.direction, DIRECTIONS),
        ):
            check_known(f"`{key}`", given, known, where)
        if self.margin is not None and self.margin < 0:
            raise ConfigError(
                f"Expected a `margin` of at least 0 in {where}, got {self.margin}. It is how much "
                "may be lost, whichever way is good."
            )

    @property
    def is_ratio(self) -> bool:
        """Whether it is a ratio of totals."""
        return self.numerator is not None

    @property
    def is_guardrail(self) -> bool:
        """Whether it only must not get worse than its margin."""
        return self.margin is not None

    @property
    def sign(self) -> str:
        """What stands behind its effects: %, pt or nothing."""
        return EFFECTS[self.effect]

    @property
    def measured(self) -> tuple[str, ...]:
        """Columns of the test itself."""
        return tuple(
            name
            for name in (self.value, self.numerator, self.denominator)
            if name is not None
        )

    @property
    def earlier(self) -> tuple[str, ...]:
        """Columns from before the test."""
        given = (self.before, self.numerator_before, self.denominator_before)
        return tuple(name for name in given if name is not None)


@dataclass(frozen=True, kw_only=True)
class AbtestConfig(Checked):
    """A randomized test (table `[abtest]`)."""

    unit: str
    metrics: tuple[Metric, ...]
    arm: str = "arm"
    control: str = "control"
    treatment: str = "treatment"
    split: float = 0.5  # expected part of the randomized units in the treatment arm
    cluster: str | None = None  # column of what was randomized, where that is not the unit
    time: str | None = None  # column of days; only to refuse a day that stands there twice
    alpha: float = 0.05
    correction: str = "holm"  # over the metrics that are no guardrails
    # Parts of the planned test at which somebody looks, the last one 1.
    looks: tuple[float, ...] = (1.0,)
    look: int | None = None  # which of them this is, from 1; None: the last
    # Column of the model's predicted gain, of both arms if possible.
    predicted: str | None = None
    predicted_lower: str | None = None
    predicted_metric: str | None = None  # which mean metric the gain is of

    def __post_init__(self) -> None:
        check_types(self, "[abtest]")
        if not self.metrics:
            raise ConfigError(
                "Expected at least one metric in [abtest.metrics], but there is none."
            )
        if self.control == self.treatment:
            raise ConfigError(
                f"Expected two names of arms in [abtest], got {self.control!r} twice."
            )
        check_range(self, ("split",), "between 0 and 1", "[abtest]")
        if not 0 < self.alpha <= 0.2:
            raise ConfigError(
                f"Expected `alpha` of [abtest] above 0 and up to 0.2, got {self.alpha}."
            )
        check_known("`correction`", self.correction, CORRECTIONS, "[abtest]")
        self._check_looks()
        self._check_predicted()

    def _check_looks(self) -> None:
        rising = all(a < b for a, b in zip((0.0, *self.looks), self.looks, strict=False))
        if not self.looks or not rising or self.looks[-1] != 1:
            raise ConfigError(
                "Expected `looks` of [abtest] as rising parts of the test that end with 1, got "
                f"{list(self.looks)}."
            )
        if self.look is not None and not 1 <= self.look <= len(self.looks):
            raise ConfigError(
                f"Expected `look` of [abtest] from 1 to {len(self.looks)}, got {self.look}."
            )

    def _check_predicted(self) -> None:
        if self.predicted is None:
            if self.predicted_lower or self.predicted_metric:
                raise ConfigError(
                    "Expected `predicted` in [abtest], as `predicted_lower` or `predicted_metric` "
                    "is given."
                )
            return
        if self.predicted_metric is None:
            raise ConfigError(
                "Expected `predicted_metric` in [abtest]: the metric whose gain is predicted."
            )
        if self.metric(self.predicted_metric).is_ratio:
            raise ConfigError(
                "Expected a mean metric as `predicted_metric` of [abtest], got the ratio "
                f"{self.predicted_metric!r}."
            )

    @property
    def look_number(self) -> int:
        """Which look this is, from 1."""
        return len(self.looks) if self.look is None else self.look

    @property
    def goals(self) -> tuple[Metric, ...]:
        """The metrics that are no guardrails."""
        return tuple(metric for metric in self.metrics if not metric.is_guardrail)

    def metric(self, name: str) -> Metric:
        """A metric by its name."""
        named = {metric.name: metric for metric in self.metrics}
        check_known("metric", name, named, "[abtest]")
        return named[name]


def parse_abtest(table: Mapping[str, Any], where: str = "[abtest]") -> AbtestConfig:
    """Build the config from a parsed TOML table; a metric is a table `[abtest.metrics.<name>]`.

    >>> parse_abtest({"unit": "item", "metrics": {"orders": {"value": "orders"}}}).metrics[0].effect
    'percent'
    """
    metrics = table.get("metrics", {})
    if not isinstance(metrics, Mapping) or not all(
        isinstance(entry, Mapping) for entry in metrics.values()
    ):
        raise ConfigError(
            f"Expected a table for every metric of {where}, such as [abtest.metrics.orders]."
        )
    parsed = [
        from_table(Metric, {**entry, "name": name}, f"[abtest.metrics.{name}]")
        for name, entry in metrics.items()
    ]
    return from_table(AbtestConfig, {**table, "metrics": parsed}, where)
