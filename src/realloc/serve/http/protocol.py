"""uvicorn's HTTP protocol with a time limit on headers and a limit on connections."""

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from realloc.serve.http.config import ServeConfig
from realloc.serve.http.http_error import too_busy
from realloc.serve.http.metrics import Metrics

BUSY_BODY = too_busy(1, 503).body("")
BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
    % (len(BUSY_BODY), BUSY_BODY)
)


class BufferedTransport:
    """Sends headers and body in one call: after each, the event loop waits for Python's lock."""

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._buffer: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send with whatever else is written in this turn of the event loop."""
        if not self._buffer:
            self._loop.call_soon(self.flush)
        self._buffer.append(data)

    def flush(self) -> None:
        """Send what is in the buffer."""
        if self._buffer:
            self._transport.write(b"".join(self._buffer))
            self._buffer.clear()

    def close(self) -> None:
        """Send what is in the buffer, then close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class LimitedProtocol(H11Protocol):
    """Closes connections over the limit, slow headers and what is not HTTP, with nothing logged."""

    max_connections: int
    header_seconds: float
    metrics: Metrics
    header_timer: asyncio.TimerHandle | None = None
    over_limit = False
    half_closed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept up to N connections; answer 503 on the next N; close any beyond 2N."""
        super().connection_made(transport)
        self.transport = cast("asyncio.Transport", BufferedTransport(transport, self.loop))
        self.over_limit = len(self.connections) > self.max_connections
        if len(self.connections) > 2 * self.max_connections:
            self._close_unanswered("closed_over_limit")
        else:
            self._set_timer()

    def data_received(self, data: bytes) -> None:
        """Read more of a request, or answer 503 over the limit."""
        if self.over_limit:
            self.metrics.refused_connections.labels("answered_503").inc()
            self.transport.write(BUSY)
            self.transport.close()
            return
        super().data_received(data)
        self._set_timer()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Answer a complete request of a client that half-closed, then close the connection."""
        self.half_closed = self._is_answering() and not self.cycle.more_body
        return self.half_closed or None

    def on_response_complete(self) -> None:
        """Close after the last response of a half-closed connection."""
        super().on_response_complete()
        if self.half_closed:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        if self.header_timer is not None:
            self.header_timer.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, and end a request in progress on the same connection."""
        if self._is_answering():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        try:
            super().send_400_response(msg)
        except (
            h11.LocalProtocolError
        ):  # a response was begun, or sent before the request was whole
            self.transport.close()

    def _is_answering(self) -> bool:
        # None before the first request
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _set_timer(self) -> None:
        """Run a timer while the headers of a request are awaited, and only then."""
        awaited = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if awaited and self.header_timer is None:
            self.header_timer = self.loop.call_later(self.header_seconds, self._time_out)
        elif not awaited and self.header_timer is not None:
            self.header_timer.cancel()
            self.header_timer = None

    def _time_out(self) -> None:
        self.header_timer = None
        if self.conn.their_state is h11.IDLE:
            self._close_unanswered("closed_slow_headers")

    def _close_unanswered(self, outcome: str) -> None:
        self.metrics.refused_connections.labels(outcome).inc()
        self.transport.close()


def limited_protocol(config: ServeConfig, metrics: Metrics) -> type[LimitedProtocol]:
    """Return the protocol class with its limits; uvicorn makes an instance per connection."""
    limits = {
        "max_connections": config.connections,
        "header_seconds": config.header_seconds,
        "metrics": metrics,
    }
    return type("Protocol", (LimitedProtocol,), limits)
