"""The service as an ASGI application: routes, limits and headers. Everything a request can do wrong is answered here.

Raw ASGI rather than a framework: seven routes, and validation that frameworks do not do (docs/decisions/0008-service.md).
"""

import asyncio
import json
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from realloc.base.version import __version__
from realloc.serve.http.auth import Tokens, host_of
from realloc.serve.http.http_error import Headers, Refusal
from realloc.serve.http.openapi import describe
from realloc.serve.http.queue import Line, rows_in
from realloc.serve.http.rate import Rate
from realloc.serve.http.versions import Versions

log = logging.getLogger("realloc.serve.http")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON = b"application/json"
ASKED = {f"/v1/{name}": name for name in ("recommend", "batch", "explain", "field", "whatif")}
TOLD = ("/healthz", "/readyz", "/version", "/metrics", "/openapi.json")
OPEN = ("/healthz", "/readyz")  # without a token: they tell nothing but whether it runs
SAFE: Headers = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'"),
)


@dataclass(frozen=True)
class Reply:
    """What is sent back."""

    status: int
    body: bytes
    kind: bytes = JSON
    headers: Headers = ()


class App:
    """Answers one request at a time per connection; scoring happens in the line's own thread."""

    def __init__(
        self, versions: Versions, line: Line, tokens: Tokens | None, hosts: frozenset[str]
    ) -> None:
        self.versions, self.line, self.tokens, self.hosts = versions, line, tokens, hosts
        self.config, self.metrics = versions.config, versions.metrics
        self.rate = Rate(self.config.rows_per_second, self.config.batch_rows)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One request, or the life of the server."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _serve(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        begun, request_id = time.perf_counter(), f"{IDS.getrandbits(64):016x}"
        path, method = scope["path"], scope["method"]
        route = path if path in ASKED or path in TOLD else "other"
        try:
            reply = await self._reply(scope, receive, request_id)
        except Refusal as refusal:
            reply = Reply(refusal.status, refusal.body(request_id), JSON, refusal.headers)
        except Exception as problem:  # never a traceback to a stranger
            log.error("an unexpected %s for request %s", type(problem).__name__, request_id)
            failed = Refusal(
                503, "internal_failure", "No answer can be given now. Keep the mix as it is."
            )
            reply = Reply(failed.status, failed.body(request_id))
        await _send(send, reply, request_id, head=method == "HEAD")
        took = time.perf_counter() - begun
        self.metrics.requests.labels(route, reply.status).inc()
        self.metrics.seconds.labels(route).observe(took)
        log.info(
            "%s %s %d %.1f ms %s",
            method if method in METHODS else "other",
            route,
            reply.status,
            took * 1000,
            request_id,
        )

    async def _reply(
        self, scope: MutableMapping[str, Any], receive: Receive, request_id: str
    ) -> Reply:
        headers = _read_headers(scope)
        path, method = scope["path"], scope["method"]
        if host_of(headers.get(b"host", b"")) not in self.hosts:
            raise Refusal(421, "unknown_host", "Expected a Host header that names this service.")
        if path not in ASKED and path not in TOLD:
            raise Refusal(404, "not_found", "There is nothing here. /openapi.json lists what is.")
        who = 0 if self.tokens is None else self.tokens.who(headers.get(b"authorization", b""))
        if path not in OPEN and who is None:
            raise Refusal(
                401,
                "no_token",
                "Expected a valid token: Authorization: Bearer …",
                ((b"www-authenticate", b"Bearer"),),
            )
        allowed = ("POST",) if path in ASKED else ("GET", "HEAD")
        if method not in allowed:
            listed = ", ".join(allowed)
            raise Refusal(
                405, "wrong_method", f"Expected {listed} here.", ((b"allow", listed.encode()),)
            )
        if path in TOLD:
            return self._tell(path)
        body = await self._read_body(headers, receive, path)
        self.rate.take(who or 0, rows_in(body, self.config))
        found = await self.line.ask(ASKED[path], body)
        return Reply(200, found[:-1] + f', "request_id": "{request_id}"}}'.encode())

    async def _read_body(self, headers: dict[bytes, bytes], receive: Receive, path: str) -> bytes:
        """All of the body, never more than allowed and never longer than a client may take."""
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != JSON:
            raise Refusal(415, "not_json", "Expected a body of type application/json.")
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise Refusal(415, "compressed", "Expected a body that is not compressed.")
        most = self.config.batch_bytes if path == "/v1/batch" else self.config.body_bytes
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 12 or int(length) > most:
            raise _too_long(most)
        parts: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(self.config.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(400, "gone", "The client went away.")
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size += len(part)
                    if size > most:
                        raise _too_long(most)
                    parts.append(part)
        except TimeoutError:
            raise Refusal(408, "too_slow", "The body took too long to arrive.", CLOSE) from None
        return b"".join(parts)

    def _tell(self, path: str) -> Reply:
        if path == "/healthz":
            return Reply(200, b'{"status": "alive"}')
        if path == "/metrics":
            current = self.versions.current
            if current is not None:
                self.metrics.age.set(current.ages(self.versions.clock())[0] * 86400)
            self.metrics.frozen.set(self.versions.why_frozen() is not None)
            self.metrics.stale.set(self.versions.is_stale())
            return Reply(200, self.metrics.text(), b"text/plain; version=0.0.4; charset=utf-8")
        if path == "/openapi.json":
            return Reply(
                200,
                json.dumps(
                    describe(self.versions.current, self.config), ensure_ascii=False
                ).encode(),
            )
        return self._ready() if path == "/readyz" else self._version()

    def _ready(self) -> Reply:
        """Ready: a checked version answers. What keeps mixes meanwhile is told, and is no reason to be taken away."""
        current = self.versions.current
        ready = current is not None and current.scorer is not None
        told = {
            "ready": ready,
            "version": current.version.number if current is not None and ready else None,
            "frozen": self.versions.why_frozen() is not None,
            "stale": self.versions.is_stale(),
            "problem": self.versions.problem,
        }
        return Reply(
            200 if ready else 503,
            json.dumps(told).encode(),
            headers=() if ready else ((b"retry-after", b"5"),),
        )

    def _version(self) -> Reply:
        current = self.versions.current
        told: dict[str, Any] = {"realloc": __version__, "version": None}
        if current is not None:
            version = current.version
            told |= {
                "version": version.number,
                "model": version.model[:16],
                "created": version.created,
            }
            told |= {
                "rounds": version.rounds,
                "last_window": version.windows[-1].last if version.windows else None,
            }
        return Reply(200, json.dumps(told).encode())


IDS = random.Random(secrets.randbits(128))  # noqa: S311
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
CLOSE: Headers = ((b"connection", b"close"),)


def _too_long(most: int) -> Refusal:
    return Refusal(413, "too_long", f"Expected a body of at most {most} bytes.", CLOSE)


def _read_headers(scope: MutableMapping[str, Any]) -> dict[bytes, bytes]:
    """By name; those that decide must come once."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in found and name in (
            b"host",
            b"authorization",
            b"content-length",
            b"content-type",
            b"content-encoding",
        ):
            raise Refusal(400, "repeated_header", "Expected each of the headers that decide once.")
        found[name] = value
    return found


async def _send(send: Send, reply: Reply, request_id: str, head: bool) -> None:
    headers = [
        (b"content-type", reply.kind),
        (b"content-length", str(len(reply.body)).encode()),
        (b"x-request-id", request_id.encode()),
        *SAFE,
        *reply.headers,
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else reply.body})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
