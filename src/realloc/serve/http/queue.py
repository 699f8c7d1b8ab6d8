"""The request queue: bounded, first come first served, emptied by the threads that decide."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from realloc.base.errors import ReallocError
from realloc.serve.http.answers import Answers
from realloc.serve.http.http_error import HttpError, internal_failure, too_busy
from realloc.serve.http.versions import Versions

log = logging.getLogger("realloc.serve.http")

MAX_BYTES = 64 * 1024 * 1024  # of bodies in the queue


@dataclass(eq=False)
class QueuedRequest:
    """A request that waits for its answer."""

    route: str
    body: bytes
    rows: int  # at most; they are counted before the body is read
    deadline: float
    future: "asyncio.Future[bytes]"

    def settle(self, result: bytes | HttpError) -> None:
        """Hand the result to the event loop, from any thread."""
        with suppress(RuntimeError):  # the server has ended meanwhile
            self.future.get_loop().call_soon_threadsafe(self._set, result)

    def _set(self, result: bytes | HttpError) -> None:
        if self.future.done():  # settled before, or its client is gone
            return
        if isinstance(result, HttpError):
            self.future.set_exception(result)
        else:
            self.future.set_result(result)


class _Once:
    """Calls a function the first time."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function: Callable[[], None] | None = function

    def __call__(self) -> None:
        function = self._function
        self._function = None
        if function is not None:
            function()


class RequestQueue:
    """Applies backpressure: a request that does not fit is refused at once with 429."""

    def __init__(self, versions: Versions) -> None:
        self.versions = versions
        self.config = versions.config
        self._requests: deque[QueuedRequest] = deque()
        self._rows = 0
        self._bytes = 0
        self._busy = 0  # threads that decide just now
        self._changed = threading.Condition()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._work, name=f"scorer {number}", daemon=True)
            for number in range(self.config.scorers)
        ]

    def start(self) -> None:
        """Start the threads that decide."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Answer what is in the queue, then end."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        until = time.monotonic() + self.config.drain_seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        with suppress(
            ReallocError, OSError
        ):  # the next service makes an entry of the journal
            self.versions.records.close()

    async def submit(self, route: str, body: bytes, rows: int) -> bytes:
        """Queue a request and wait for its answer; raises HttpError."""
        seconds = self.config.answer_seconds
        future = asyncio.get_running_loop().create_future()
        request = QueuedRequest(route, body, rows, time.monotonic() + seconds, future)
        self._put(request)
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise too_busy(2, 503) from None

    def _put(self, request: QueuedRequest) -> None:
        with self._changed:
            if (
                self._stopped
                or len(self._requests) >= self.config.waiting_requests
                or self._rows + request.rows > self.config.waiting_rows
                or self._bytes + len(request.body) > MAX_BYTES
            ):
                raise too_busy(1)
            self._requests.append(request)
            self._count(request, 1)
            self._changed.notify()

    def _count(self, request: QueuedRequest, sign: int) -> None:
        self._rows += sign * request.rows
        self._bytes += sign * len(request.body)
        self.versions.metrics.waiting.set(self._rows)

    def _take(self) -> list[QueuedRequest]:
        """Wait for requests and take as many as may be decided together; none at the end.

        One turn costs less than two, so a second thread starts only where a full turn waits.
        """
        limit = self.config.rows_at_once
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._stopped
                    or (self._requests and (not self._busy or self._rows >= limit))
                )
            )
            taken: list[QueuedRequest] = []
            rows = 0
            while self._requests and (not taken or rows + self._requests[0].rows <= limit):
                request = self._requests.popleft()
                taken.append(request)
                rows += request.rows
                self._count(request, -1)
            self._busy += bool(taken)
            return taken

    def _work(self) -> None:
        while taken := self._take():
            begun = time.thread_time()
            release = _Once(self._release)
            try:
                self._answer(taken, release)
            except Exception as problem:  # nothing may end this thread
                log.error("an unexpected %s while deciding", type(problem).__name__)
                for request in taken:
                    request.settle(internal_failure())
            finally:
                self.versions.metrics.scoring.inc(time.thread_time() - begun)
                release()

    def _release(self) -> None:
        """Let another thread decide, while this one waits for the disk."""
        with self._changed:
            self._busy -= 1
            self._changed.notify()

    def _answer(self, requests: list[QueuedRequest], decided: Callable[[], None]) -> None:
        current = self.versions.current  # once: all these answers come from this version
        if current is None:
            sentence = "No model is loaded yet. Keep the current mix."
            error = HttpError(503, "no_model", sentence, ((b"retry-after", b"5"),))
            for request in requests:
                request.settle(error)
            return
        now = time.monotonic()
        in_time = [request for request in requests if request.deadline >= now]
        answers = Answers(self.versions, current)
        bodies = [(request.route, request.body) for request in in_time]
        results = answers.respond(bodies, decided)
        for request, result in zip(in_time, results, strict=True):
            request.settle(result)


def count_rows(body: bytes, limit: int) -> int:
    """Return the largest number of rows that a body may hold, before it is read."""
    return min(max(1, body.count(b"{") - 1), limit)
