"""Publish limits: which of them a run breaks, each in a sentence with both figures."""

from collections.abc import Iterator

from realloc.batch.summary import RunSummary
from realloc.model.publish_limits import PublishLimits


def broken_limits(summary: RunSummary, limits: PublishLimits) -> Iterator[str]:
    """Say why a run may not be published; what is not known breaks no limit."""
    if summary.bad_rows_share > limits.max_bad_rows:
        yield (
            f"{summary.bad_rows:,} of {summary.rows:,} rows cannot be read "
            f"({summary.bad_rows_share:.1%}, `max_bad_rows` is {limits.max_bad_rows:.1%})"
        )
    rate = summary.action_rate
    if rate is not None and rate > limits.max_action_rate:
        yield (
            f"{summary.moved:,} rows would move "
            f"({rate:.1%}, `max_action_rate` is {limits.max_action_rate:.1%})"
        )
    share = summary.moved_share
    if share is not None and share > limits.max_moved_share:
        yield (
            f"{summary.moved_money:,.2f} would change hands ({share:.1%} of all money, "
            f"`max_moved_share` is {limits.max_moved_share:.1%})"
        )
    drift = summary.drift.largest() if summary.drift else None
    if drift is not None and drift.excess > limits.max_drift:
        yield (
            f"{drift.name!r} has drifted by {drift.excess:.3f} "
            f"(`max_drift` is {limits.max_drift:g})"
            + (drift.change and f": {drift.change}")
        )
    age = summary.age
    if age.days > limits.max_age_days:
        yield f"the version is {age.days:.1f} days old (`max_age_days` is {limits.max_age_days:g})"
    longest = limits.max_window_age_days
    if longest is not None and age.window_days > longest:
        yield (
            f"its last window ended {age.window_days:.1f} days ago "
            f"(`max_window_age_days` is {longest:g})"
        )
