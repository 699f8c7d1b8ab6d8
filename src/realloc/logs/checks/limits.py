"""Where the check draws its lines."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types
from realloc.logs.split import LEAST_LONG


@dataclass(frozen=True, kw_only=True)
class CheckConfig(Checked):
    """Where the check draws its lines (table `[check]`)."""

    fewest_rows: int = 50  # fewer: no fit
    fewest_units: int = LEAST_LONG
    few_rows: int = 1000  # fewer: a warning
    few_units: int = 20
    # Fewer rows for each channel, or that use one: a warning.
    few_rows_per_channel: int = 50
    # The category whose units may compete; None: each that never changes within a unit.
    cluster: str | None = None
    budget_jump: float = 100.0  # a unit's budget from one period to the next, as a factor

    def __post_init__(self) -> None:
        check_types(self, "[check]")
        if self.fewest_rows < 2 or self.fewest_units < 2:
            raise ConfigError(
                "Expected `fewest_rows` and `fewest_units` of [check] to be at least 2."
            )
        if min(self.few_rows, self.few_units, self.few_rows_per_channel) < 0:
            raise ConfigError(
                "Expected `few_rows`, `few_units` and `few_rows_per_channel` of [check] to be at "
                "least 0."
            )
        if self.budget_jump <= 1:
            raise ConfigError(
                f"Expected `budget_jump` of [check] above 1, got {self.budget_jump}."
            )
