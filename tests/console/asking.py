"""Ask the console in this process, as a browser would."""

import asyncio
from dataclasses import dataclass
from urllib.parse import urlencode

from realloc.console.guard import Guard

HOST = "localhost:8080"


@dataclass(frozen=True)
class Shown:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


async def visit_async(
    app: Guard, method: str, address: str, body: bytes, headers: dict[str, str]
) -> Shown:
    path, _, query = address.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "replace"),
        "root_path": "",
        "query_string": query.encode("utf-8", "replace"),
        "headers": [
            (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
            for name, value in headers.items()
        ],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8080),
    }
    sent = []
    given = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive():
        if not given:
            await asyncio.Event().wait()  # the browser stays until it has the answer
        return given.pop()

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    pairs = {name.decode(): value.decode() for name, value in start["headers"]}
    return Shown(start["status"], pairs, b"".join(m.get("body", b"") for m in sent[1:]))


def get(app: Guard, address: str, **headers: str) -> Shown:
    return asyncio.run(
        visit_async(app, "GET", address, b"", {"host": HOST, **named(headers)})
    )


def post(app: Guard, address: str, fields: dict[str, str], **headers: str) -> Shown:
    own = {"host": HOST, "sec-fetch-site": "same-origin"} | named(headers)
    body = urlencode(fields).encode()
    return asyncio.run(visit_async(app, "POST", address, body, own))


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def log_in(app: Guard, token: str) -> dict[str, str]:
    """The header that a browser sends after a login."""
    cookie = post(app, "/login", {"token": token}).headers["set-cookie"]
    return {"cookie": cookie.partition(";")[0]}
