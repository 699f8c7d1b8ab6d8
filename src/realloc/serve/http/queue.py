"""The line: requests wait here, bounded, until a thread that scores takes as many of them as fit together."""

import asyncio
import logging
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from realloc.base.errors import ReallocError
from realloc.serve.http.answers import Asked, answer, read, timed
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.http_error import Refusal, too_busy
from realloc.serve.http.versions import Versions

log = logging.getLogger("realloc.serve.http")

MOST_BYTES = 64 * 1024 * 1024  # of bodies that wait
RETRY = ((b"retry-after", b"5"),)


@dataclass(eq=False)
class Waiting:
    """A request in the line."""

    route: str
    body: bytes
    rows: int  # an estimate until it is read
    deadline: float
    future: "asyncio.Future[bytes]"
    loop: asyncio.AbstractEventLoop = field(repr=False)

    def settle(self, found: bytes | Refusal) -> None:
        """Hand the answer to whoever waits for it."""
        with suppress(RuntimeError):  # the server has ended meanwhile
            self.loop.call_soon_threadsafe(self._set, found)

    def _set(self, found: bytes | Refusal) -> None:
        if self.future.done():
            return  # nobody waits any more
        if isinstance(found, Refusal):
            self.future.set_exception(found)
        else:
            self.future.set_result(found)


class Line:
    """First come, first served; what cannot be answered in time is turned away at the door."""

    def __init__(self, versions: Versions) -> None:
        self.versions, self.config = versions, versions.config
        self._waiting: deque[Waiting] = deque()
        self._rows = self._bytes = self._busy = 0
        self._changed = threading.Condition()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._work, name=f"scorer {number}", daemon=True)
            for number in range(self.config.scorers)
        ]

    def start(self) -> None:
        """Begin to score."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Answer what waits, then end."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        until = time.monotonic() + self.config.drain_seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        with suppress(ReallocError, OSError):  # else the next service makes an entry of the journal
            self.versions.records.close()

    async def ask(self, route: str, body: bytes) -> bytes:
        """The answer to a request, or a `Refusal`."""
        loop = asyncio.get_running_loop()
        rows = rows_in(body, self.config)
        waiting = Waiting(
            route,
            body,
            rows,
            time.monotonic() + self.config.answer_seconds,
            loop.create_future(),
            loop,
        )
        self._enter(waiting)
        try:
            async with asyncio.timeout(self.config.answer_seconds):
                return await waiting.future
        except TimeoutError:
            raise too_busy(2, 503) from None

    def _enter(self, waiting: Waiting) -> None:
        with self._changed:
            full = (
                self._rows + waiting.rows > self.config.waiting_rows
                or self._bytes + len(waiting.body) > MOST_BYTES
            )
            if self._stopped or full or len(self._waiting) >= self.config.waiting_requests:
                raise too_busy(1)
            self._waiting.append(waiting)
            self._rows += waiting.rows
            self._bytes += len(waiting.body)
            self.versions.metrics.waiting.set(self._rows)
            self._changed.notify()

    def _take(self) -> list[Waiting] | None:
        """As many requests as may be scored together; None at the end."""
        with self._changed:
            while not self._is_due() and not self._stopped:
                self._changed.wait()
            if not self._waiting:
                return None
            taken, rows = [], 0
            while self._waiting and (
                not taken or rows + self._waiting[0].rows <= self.config.rows_at_once
            ):
                taken.append(self._waiting.popleft())
                rows += taken[-1].rows
            self._rows -= rows
            self._bytes -= sum(len(waiting.body) for waiting in taken)
            self._busy += 1
            self.versions.metrics.waiting.set(self._rows)
            return taken

    def _is_due(self) -> bool:
        """Whether a thread should begin: what waits costs less in one turn than in two, unless it would fill one by itself."""
        return bool(self._waiting) and (not self._busy or self._rows >= self.config.rows_at_once)

    def _done(self) -> None:
        with self._changed:
            self._busy -= 1

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            late = [waiting for waiting in taken if waiting.deadline < time.monotonic()]
            for waiting in late:
                waiting.settle(too_busy(2, 503))  # its client has given up: spend nothing on it
            try:
                timed(
                    self.versions,
                    lambda now=taken, gone=late: self._score([w for w in now if w not in gone]),
                )
            except Exception as problem:  # nothing may end this thread
                log.error("an unexpected %s while scoring", type(problem).__name__)
                for waiting in taken:
                    waiting.settle(
                        Refusal(
                            503,
                            "internal_failure",
                            "No answer can be given now. Keep the mix as it is.",
                        )
                    )
            finally:
                self._done()

    def _score(self, taken: list[Waiting]) -> None:
        current = self.versions.current  # once: all these answers come from this version
        if current is None:
            for waiting in taken:
                waiting.settle(
                    Refusal(
                        503, "no_model", "No model is loaded yet. Keep the mix as it is.", RETRY
                    )
                )
            return
        asked: list[tuple[Waiting, Asked]] = []
        found = read(self.versions, current, [(waiting.route, waiting.body) for waiting in taken])
        for waiting, one in zip(taken, found, strict=True):
            if isinstance(one, Refusal):
                waiting.settle(one)
            else:
                asked.append((waiting, one))
        try:
            bodies = answer(self.versions, current, [one for _, one in asked])
        except Refusal as refusal:
            bodies = [refusal] * len(asked) if len(asked) == 1 else None
        if bodies is None:  # one of several was refused while being answered: each alone
            for waiting, _ in asked:
                self._score([waiting])
            return
        for (waiting, _), body in zip(asked, bodies, strict=True):
            waiting.settle(body)


def rows_in(body: bytes, config: ServeConfig) -> int:
    """How many rows a body holds at most, before it is read."""
    return min(max(1, body.count(b"{") - 1), config.batch_rows)
