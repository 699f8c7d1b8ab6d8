"""Publish limits: which of them a run breaks, each in a sentence with both figures."""

from collections.abc import Iterator
from typing import Any

from realloc.batch.summary import largest_drift
from realloc.model.publish_limits import PublishLimits


def broken_limits(told: dict[str, Any], limits: PublishLimits) -> Iterator[str]:
    """Why a run may not be published; what is not known breaks no limit, and the summary says that it is not known."""
    if told["bad_rows_share"] > limits.max_bad_rows:
        yield (
            f"{told['bad_rows']:,} of {told['rows']:,} rows cannot be read ({told['bad_rows_share']:.1%}, "
            f"`max_bad_rows` is {limits.max_bad_rows:.1%})"
        )
    rate = told["action_rate"]
    if rate is not None and rate > limits.max_action_rate:
        yield f"{told['moved']:,} rows would move ({rate:.1%}, `max_action_rate` is {limits.max_action_rate:.1%})"
    share = told["moved_share"]
    if share is not None and share > limits.max_moved_share:
        yield (
            f"{told['moved_money']:,.2f} would change hands ({share:.1%} of all money, `max_moved_share` is "
            f"{limits.max_moved_share:.1%})"
        )
    largest = largest_drift(told)
    if largest is not None and largest[1] > limits.max_drift:
        yield f"{largest[0]!r} has drifted by {largest[1]:.3f} (`max_drift` is {limits.max_drift:g})"
    yield from _too_old(told["age"], limits)


def _too_old(age: dict[str, Any], limits: PublishLimits) -> Iterator[str]:
    if age["days"] > limits.max_age_days:
        yield f"the version is {age['days']:.1f} days old (`max_age_days` is {limits.max_age_days:g})"
    window, most = age["window_days"], limits.max_window_age_days
    if most is not None and window > most:
        yield f"its last window ended {window:.1f} days ago (`max_window_age_days` is {most:g})"
