"""How much one token may ask: a bucket of rows for each, filled at a steady rate, so that no client starves the others."""

import math
import time
from collections.abc import Callable

from realloc.serve.http.http_error import Refusal


class Rate:
    """Rows a second and token; a full bucket holds those of one second, or one large request. 0: no limit."""

    def __init__(
        self, per_second: float, largest: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.per_second, self.size, self.clock = per_second, max(per_second, largest), clock
        self._left: dict[int, tuple[float, float]] = {}  # rows, and when that was

    def take(self, token: int, rows: int) -> None:
        """Let a request in, or refuse it and say when it may come again."""
        if not self.per_second:
            return
        left, since = self._left.get(token, (self.size, self.clock()))
        now = self.clock()
        left = min(self.size, left + (now - since) * self.per_second)
        if rows > left:
            self._left[token] = left, now
            wait = math.ceil((rows - left) / self.per_second)
            raise Refusal(
                429,
                "too_fast",
                f"Expected at most {self.per_second:g} rows a second. Try again in {wait} s.",
                ((b"retry-after", str(wait).encode()),),
            )
        self._left[token] = left - rows, now
