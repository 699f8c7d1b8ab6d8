"""What every request passes: host, method, origin and size are checked, answers locked down.

No GET changes anything. A POST comes from a page of ours, which the browser vouches for.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from realloc.console.roles import COOKIE, NOBODY, RoleTokens, Sessions
from realloc.serve.http.auth import host_of

log = logging.getLogger("realloc.console")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

MOST_BODY = 64 * 1024  # bytes of a form
MOST_ADDRESS = 6_000  # bytes of path and query
BODY_SECONDS = 10.0
METHODS = ("GET", "HEAD", "POST")
OPEN = ("/login", "/static/")  # what somebody sees who is not logged in
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
LOCKED: Headers = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
NEVER_STORED = (b"cache-control", b"no-store")
UNIQUE = (b"host", b"cookie", b"origin", b"sec-fetch-site", b"content-length")


class RequestRefused(Exception):
    """Raised for a request that gets no page: the status and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Guard:
    """An ASGI application around the pages."""

    def __init__(
        self,
        inner: Application,
        hosts: frozenset[str],
        tokens: RoleTokens | None,
        sessions: Sessions,
    ) -> None:
        self.inner = inner
        self.hosts = hosts
        self.tokens = tokens
        self.sessions = sessions

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no web sockets here
        begun = False

        async def send_locked(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = [*message.get("headers", []), *LOCKED]
                if b"cache-control" not in dict(headers):
                    headers.append(NEVER_STORED)
                message = {**message, "headers": headers}
            await send(message)

        try:
            body = await self._check(scope, receive)
            await self.inner(scope, _replay(body, receive), send_locked)
        except RequestRefused as problem:
            await _answer(send_locked, problem.status, str(problem))
        except Exception as problem:  # nobody sees a traceback
            debug = log.isEnabledFor(logging.DEBUG)
            log.error("an unexpected %s", type(problem).__name__, exc_info=debug)
            if not begun:
                sentence = "Something failed inside the console. Its log says what."
                await _answer(send_locked, 500, sentence)

    async def _check(self, scope: Message, receive: Receive) -> bytes:
        """Refuse what may not pass; say who asks; return the body."""
        headers = _read_headers(scope)
        if scope["method"] not in METHODS:
            raise RequestRefused(405, "Expected GET or POST here.")
        if host_of(headers.get(b"host", b"")) not in self.hosts:
            raise RequestRefused(421, "Expected a Host header that names this console.")
        path = scope["path"]
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > MOST_ADDRESS:
            raise RequestRefused(414, "The address is too long.")
        member = self._member(headers)
        scope.setdefault("state", {})["member"] = member
        if scope["method"] == "POST":
            _check_origin(headers)
        if member is None and not path.startswith(OPEN):
            if scope["method"] == "POST":
                raise RequestRefused(401, "Log in first.")
            scope["path"] = "/login"
            scope["raw_path"] = b"/login"
        return await _read_body(receive) if scope["method"] == "POST" else b""

    def _member(self, headers: dict[bytes, bytes]) -> Any:
        if self.tokens is None:
            return NOBODY
        cookie = read_cookie(headers.get(b"cookie", b""))
        return self.sessions.find(cookie) if cookie else None


def read_cookie(header: bytes) -> str:
    """Our cookie; empty where there is none."""
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _check_origin(headers: dict[bytes, bytes]) -> None:
    """A form is only taken from a page of this console."""
    site = headers.get(b"sec-fetch-site")
    if site is None:  # an older browser: it names at least where the form came from
        origin = headers.get(b"origin", b"").rpartition(b"//")[2]
        if origin and origin == headers.get(b"host"):
            return
    elif site == b"same-origin":
        return
    raise RequestRefused(403, "Expected a form that was sent from a page of this console.")


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    more = True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RequestRefused(400, "The browser closed the connection.")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > MOST_BODY:
                    raise RequestRefused(413, "The form is too long.")
    except TimeoutError:
        raise RequestRefused(408, "The form took too long to arrive.") from None
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hand out a body that has been read already, then whatever comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _answer(send: Send, status: int, sentence: str) -> None:
    body = sentence.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _read_headers(scope: Message) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in headers and name in UNIQUE:
            raise RequestRefused(400, "Expected each header once.")
        headers[name] = value
    return headers
