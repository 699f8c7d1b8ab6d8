"""uvicorn's HTTP protocol, with an end to slow headers and to connections beyond the limit."""

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from realloc.serve.http.http_error import too_busy

WORDS = too_busy(1, 503).body("")
BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(WORDS), WORDS)
)


class AtOnce:
    """A transport that sends headers and body together: each time a thread sends, it has to wait for those that score."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop, self._parts = transport, loop, list[bytes]()

    def write(self, data: bytes) -> None:
        """Send with what else is written before the loop goes on."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)

    def flush(self) -> None:
        """Send now."""
        if self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()

    def close(self) -> None:
        """Send, then end."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Guarded(H11Protocol):
    """Closes whoever takes too long to ask, and whoever speaks no HTTP, without a word in the log."""

    most_connections = 512
    header_seconds = 5.0
    patience: asyncio.TimerHandle | None = None
    heard_all = False
    one_too_many = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let in, unless there are too many: as many again are told so when they ask, and beyond them nobody is heard."""
        super().connection_made(transport)
        self.transport = cast("asyncio.Transport", AtOnce(transport, self.loop))
        self.one_too_many = len(self.connections) > self.most_connections
        if len(self.connections) > 2 * self.most_connections:
            transport.close()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        if self.one_too_many:
            self.transport.write(BUSY)
            self.transport.close()
            return
        super().data_received(data)
        self._watch()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client has said all it will; a request that came whole is still answered, then the connection ends."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        self.heard_all = cycle is not None and not cycle.response_complete and not cycle.more_body
        return self.heard_all or None

    def on_response_complete(self) -> None:
        """Answered."""
        super().on_response_complete()
        if self.heard_all:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Gone."""
        if self.patience is not None:
            self.patience.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """For what is no HTTP; a request that is being answered on the same connection ends here, too."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # an answer was begun, or given before all was said
            self.transport.close()

    def _watch(self) -> None:
        """Run a timer while a request is being begun, and only then."""
        asking = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if asking and self.patience is None:
            self.patience = self.loop.call_later(self.header_seconds, self._give_up)
        elif not asking and self.patience is not None:
            self.patience.cancel()
            self.patience = None

    def _give_up(self) -> None:
        self.patience = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()


def guarded(most_connections: int, header_seconds: float) -> type[Guarded]:
    """The protocol with its limits."""
    return type(
        "Limited",
        (Guarded,),
        {"most_connections": most_connections, "header_seconds": header_seconds},
    )
