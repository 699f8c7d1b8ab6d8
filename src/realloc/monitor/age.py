"""How old a model is: since its version was made, and since the last time it has learned from."""

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Age:
    """Days since the version was made, and since the end of its last window."""

    days: float
    window_days: float


def age_of(created: str, window_end: str, now: datetime) -> Age:
    """From the times in a version's record. A clock that went back gives 0, not less."""
    return Age(_days(created, now), _days(window_end, now))


def _days(since: str, now: datetime) -> float:
    then = datetime.fromisoformat(since[:26])  # nanoseconds are more than Python counts
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (now - then).total_seconds() / 86_400)
