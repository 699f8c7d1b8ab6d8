"""The launch brake: limits beyond which a batch of recommendations is not published (table `[launch]`)."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import check_types


@dataclass(frozen=True, kw_only=True)
class LaunchLimits:
    """When a run refuses to publish, unless forced (table `[launch]`)."""

    max_action_rate: float = 1.0  # part of the usable rows that may move; 1: no limit
    max_moved_share: float = 0.2  # part of all money that may change hands
    max_drift: float = 0.25  # of any column of the state, or of the shares, against the training window (docs/monitor.md)
    max_bad_rows: float = 0.1  # part of the rows that may be unreadable, duplicates among them
    max_age_days: float = 45.0  # since the version was made
    max_window_age_days: float | None = (
        None  # since the last time that the model has learned from; None: no limit
    )

    def __post_init__(self) -> None:
        check_types(self, "[launch]")
        for name in ("max_action_rate", "max_moved_share", "max_bad_rows"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(
                    f"Expected `{name}` of [launch] from 0 to 1, got {getattr(self, name)}."
                )
        if self.max_drift < 0 or self.max_age_days <= 0 or not (self.max_window_age_days or 1) > 0:
            raise ConfigError("Expected `max_drift` of at least 0 and ages above 0 in [launch].")
