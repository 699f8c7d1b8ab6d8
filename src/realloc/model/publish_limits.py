"""Publish limits: beyond them a batch of recommendations is not published (table `[publish]`)."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types


@dataclass(frozen=True, kw_only=True)
class PublishLimits(Checked):
    """When a run refuses to publish, unless forced."""

    # Part of the usable rows that may move; 1 means no limit.
    max_action_rate: float = 1.0
    # Part of all money that may change hands.
    max_moved_share: float = 0.2
    # Drift of any column of the state, or of the shares, against the training window.
    max_drift: float = 0.25
    # Part of the rows that may be unreadable, duplicates among them.
    max_bad_rows: float = 0.1
    # Days since the version was made.
    max_age_days: float = 45.0
    # Days since the end of the last window that the model has learned from; None means no limit.
    max_window_age_days: float | None = None

    def __post_init__(self) -> None:
        check_types(self, "[publish]")
        for name in ("max_action_rate", "max_moved_share", "max_bad_rows"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(
                    f"Expected `{name}` of [publish] from 0 to 1, got {getattr(self, name)}."
                )
        if (
            self.max_drift < 0
            or self.max_age_days <= 0
            or not (self.max_window_age_days or 1) > 0
        ):
            raise ConfigError(
                "Expected `max_drift` of at least 0 and ages above 0 in [publish]."
            )
