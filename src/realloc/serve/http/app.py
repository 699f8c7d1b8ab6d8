"""The service as an ASGI application: routes, checks of the request, error responses, headers.

Raw ASGI rather than a framework: see docs/decisions/0014-http-toolkit.md.
"""

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

import orjson

from realloc.base.version import __version__
from realloc.serve.http.answers import KEYS
from realloc.serve.http.auth import Tokens, host_of
from realloc.serve.http.http_error import Headers, HttpError, internal_failure
from realloc.serve.http.openapi import describe
from realloc.serve.http.queue import RequestQueue, count_rows
from realloc.serve.http.rate import RateLimit
from realloc.serve.http.trace import trace_of
from realloc.serve.http.versions import Versions
from realloc.serve.http.welcome import HEADERS, HTML, welcome

log = logging.getLogger("realloc.serve.http")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON = b"application/json"
TEXT = b"text/plain; version=0.0.4; charset=utf-8"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
DECISIONS = {f"/v1/{route}": route for route in KEYS}
# They say only whether the service runs, and what it is.
WITHOUT_TOKEN = ("/healthz", "/readyz", "/", "/docs")
UNIQUE = (
    b"host",
    b"authorization",
    b"content-length",
    b"content-type",
    b"content-encoding",
)
CLOSE: Headers = ((b"connection", b"close"),)
SAFE: Headers = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)
NOTHING: Headers = ((b"content-security-policy", b"default-src 'none'"),)
REQUEST_IDS = random.Random(secrets.randbits(128))  # noqa: S311  names, no secrets


@dataclass(frozen=True)
class Response:
    """What is sent back."""

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: Headers = ()
    policy: Headers = NOTHING  # what a browser may load for it


class App:
    """Checks requests and answers them; decisions are made in the request queue's threads."""

    def __init__(
        self,
        versions: Versions,
        queue: RequestQueue,
        tokens: Tokens | None,
        hosts: frozenset[str],
    ) -> None:
        self.versions = versions
        self.queue = queue
        self.tokens = tokens
        self.hosts = hosts
        self.config = versions.config
        self.metrics = versions.metrics
        self.rate_limit = RateLimit(self.config.rows_per_second, self.config.batch_rows)
        self._pages: dict[str, Callable[[], Response]] = {
            "/healthz": lambda: Response(200, b'{"status": "alive"}'),
            "/readyz": self._ready,
            "/version": self._version,
            "/metrics": self._metrics,
            "/openapi.json": lambda: _json(describe(versions.current, self.config)),
            "/": self._welcome,
            "/docs": self._welcome,
        }

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan events of the server."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
            return
        event = ""
        while event != "lifespan.shutdown":
            event = (await receive())["type"]
            await send({"type": f"{event}.complete"})

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        request_id = f"{REQUEST_IDS.getrandbits(64):016x}"
        method = scope["method"]
        try:
            response = await self._respond(scope, receive, request_id)
        except HttpError as error:
            response = _error(error, request_id)
        except Exception as problem:  # a client never sees a traceback
            log.error("an unexpected %s for request %s", type(problem).__name__, request_id)
            response = _error(internal_failure(), request_id)
        headers = [
            (b"content-type", response.content_type),
            (b"content-length", b"%d" % len(response.body)),
            (b"x-request-id", request_id.encode()),
            *SAFE,
            *response.policy,
            *response.headers,
        ]
        status = response.status
        await send({"type": "http.response.start", "status": status, "headers": headers})
        body = b"" if method == "HEAD" else response.body
        await send({"type": "http.response.body", "body": body})
        # Labels and log lines hold known words only, never what a stranger sent.
        path = scope["path"]
        route = path if path in DECISIONS or path in self._pages else "other"
        method = method if method in METHODS else "other"
        seconds = time.perf_counter() - begun
        self.metrics.requests.labels(route, status).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        trace = trace_of(scope["headers"])
        named = f"{request_id} trace {trace}" if trace else request_id
        log.info("%s %s %d %.1f ms %s", method, route, status, seconds * 1000, named)

    async def _respond(self, scope: Message, receive: Receive, request_id: str) -> Response:
        headers = _read_headers(scope)
        path = scope["path"]
        if host_of(headers.get(b"host", b"")) not in self.hosts:
            raise HttpError(
                421, "unknown_host", "Expected a Host header that names this service."
            )
        if path not in DECISIONS and path not in self._pages:
            raise HttpError(
                404, "not_found", "Unknown path. / and /openapi.json list the known ones."
            )
        token = 0
        if self.tokens is not None and path not in WITHOUT_TOKEN:
            token = self.tokens.find(headers.get(b"authorization", b""))
        allowed = "POST" if path in DECISIONS else "GET, HEAD"
        if scope["method"] not in allowed.split(", "):
            raise HttpError(
                405,
                "wrong_method",
                f"Expected {allowed} here.",
                ((b"allow", allowed.encode()),),
            )
        if path in self._pages:
            return self._pages[path]()
        body = await self._read_body(headers, receive, path)
        rows = count_rows(body, self.config.batch_rows)
        self.rate_limit.take(token, rows)
        answer = await self.queue.submit(DECISIONS[path], body, rows)
        return Response(200, b'%b,"request_id":"%b"}' % (answer[:-1], request_id.encode()))

    async def _read_body(
        self, headers: dict[bytes, bytes], receive: Receive, path: str
    ) -> bytes:
        """Read the body, limited in size and time."""
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != JSON:
            raise HttpError(415, "not_json", "Expected a body of type application/json.")
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise HttpError(415, "compressed", "Expected a body that is not compressed.")
        limit = self.config.batch_bytes if path == "/v1/batch" else self.config.body_bytes
        too_long = HttpError(
            413, "too_long", f"Expected a body of at most {limit} bytes.", CLOSE
        )
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 12 or int(length) > limit:
            raise too_long
        body = bytearray()
        more = True
        try:
            async with asyncio.timeout(self.config.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise HttpError(400, "gone", "The client closed the connection.")
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > limit:
                        raise too_long
        except TimeoutError:
            sentence = "The body took too long to arrive."
            raise HttpError(408, "too_slow", sentence, CLOSE) from None
        return bytes(body)

    def _ready(self) -> Response:
        """Ready where a checked version answers, even while every mix is kept."""
        current = self.versions.current
        number = current.record.number if current and current.model else None
        state = {
            "ready": number is not None,
            "version": number,
            "frozen": self.versions.is_frozen(),
            "stale": self.versions.is_stale(),
            "problem": self.versions.problem,
        }
        return _json(state) if number else _json(state, 503, ((b"retry-after", b"5"),))

    def _welcome(self) -> Response:
        page = welcome(self.tokens is not None)
        return Response(200, page, HTML, policy=HEADERS)

    def _version(self) -> Response:
        state: dict[str, Any] = {"realloc": __version__, "version": None}
        if self.versions.current is not None:
            version = self.versions.current.record
            state |= {
                "version": version.number,
                "model": version.model[:16],
                "created": version.created,
                "rounds": version.rounds,
                "last_window": version.windows[-1].last,
            }
        return _json(state)

    def _metrics(self) -> Response:
        versions = self.versions
        if versions.current is not None:
            self.metrics.age.set(versions.current.ages(versions.clock())[0] * 86400)
        self.metrics.frozen.set(versions.is_frozen())
        self.metrics.stale.set(versions.is_stale())
        return Response(200, self.metrics.text(), TEXT)


def _json(content: Any, status: int = 200, headers: Headers = ()) -> Response:
    return Response(status, orjson.dumps(content), JSON, headers)


def _error(error: HttpError, request_id: str) -> Response:
    return Response(error.status, error.body(request_id), JSON, error.headers)


def _read_headers(scope: Message) -> dict[bytes, bytes]:
    """Return headers by name; those that decide must come once."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in headers and name in UNIQUE:
            raise HttpError(
                400, "repeated_header", f"Expected the header {name.decode()} once."
            )
        headers[name] = value
    return headers
