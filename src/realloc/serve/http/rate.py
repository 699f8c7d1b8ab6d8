"""Rate limit: a bucket of rows for each bearer token, so that no client starves the others."""

import math
import time
from collections.abc import Callable

from realloc.serve.http.http_error import HttpError


class RateLimit:
    """Rows per second and token; a bucket holds one second's rows, or one large request.

    A rate of 0 means no limit.
    """

    def __init__(
        self, per_second: float, largest: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.per_second = per_second
        self.size = max(per_second, largest)
        self.clock = clock
        self._buckets: dict[int, tuple[float, float]] = {}  # rows left, and when that was

    def take(self, token: int, rows: int) -> None:
        """Take rows out of the token's bucket; raises 429 with the time to wait."""
        if not self.per_second:
            return
        now = self.clock()
        left, since = self._buckets.get(token, (self.size, now))
        left = min(self.size, left + (now - since) * self.per_second)
        if rows <= left:
            self._buckets[token] = left - rows, now
            return
        self._buckets[token] = left, now
        wait = math.ceil((rows - left) / self.per_second)
        raise HttpError(
            429,
            "too_fast",
            f"Expected at most {self.per_second:g} rows per second. Try again in {wait} s.",
            ((b"retry-after", b"%d" % wait),),
        )
