"""Ask the service: in this process through ASGI, or a real one through a socket."""

import asyncio
import copy
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from realloc.serve.http.app import App
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.metrics import Metrics
from realloc.serve.http.queue import RequestQueue
from realloc.serve.http.versions import Versions
from realloc.storage.store import Store
from tests.small import fitted, today, updated, window

MAIN = "from realloc.cli.main import main; main()"
HOSTS = frozenset({"localhost"})
INTERNALS = (
    b"Traceback",
    b'File "',
    b".py",
    b"realloc.",
    b"numpy",
    b"pyarrow",
    b"site-packages",
    b"Error",
    b"0x",
)


def make_store(path: Path) -> Store:
    """A store with two versions; the second one is current."""
    store = Store(path)
    store.commit(fitted(), window())
    store.commit(updated(), window(1))
    return store


@cache
def listed(rows: int = 40) -> list[dict]:
    return (
        today(rows)
        .assign(date=lambda frame: frame.date.astype(str))
        .to_dict(orient="records")
    )


def some_rows(rows: int = 3) -> list[dict]:
    """Rows as a client would send them."""
    return copy.deepcopy(listed(40)[:rows])


def open_app(store: Path, tokens=None, clock=None, **settings) -> App:
    """The service in this process; its threads are daemons."""
    config = ServeConfig(**{"poll_seconds": 600.0, **settings})
    versions = Versions(store, config, Metrics(), **({"clock": clock} if clock else {}))
    versions.start()
    if "poll_seconds" not in settings:
        versions.stop()  # or it would look at the disk during other tests
    queue = RequestQueue(versions)
    queue.start()
    return App(versions, queue, tokens, HOSTS)


class Answer:
    """What came back."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


async def ask_async(
    app: App,
    method: str,
    path: str,
    body: bytes,
    headers: dict[str, str],
    again: tuple = (),
    gone: bool = False,
) -> Answer:
    """One request; `again`: headers that come twice, `gone`: the client leaves before the end."""
    scope = {"type": "http", "method": method, "path": path}
    pairs = [*headers.items(), *again]
    scope["headers"] = [
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs
    ]
    messages = [{"type": "http.request", "body": body, "more_body": gone}]
    sent: list[dict] = []

    async def receive():
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    async with asyncio.timeout(60):
        await app(scope, receive, send)
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(
        sent[0]["status"], told, b"".join(part.get("body", b"") for part in sent[1:])
    )


def ask(
    app: App, path: str, body=None, method: str | None = None, **headers: str
) -> Answer:
    """One request; a body that is no bytes becomes JSON."""
    method = method or ("GET" if body is None else "POST")
    content = (
        body
        if isinstance(body, bytes)
        else b""
        if body is None
        else json.dumps(body).encode()
    )
    given = {"host": "localhost", "content-type": "application/json"} | {
        k.replace("_", "-"): v for k, v in headers.items()
    }
    return asyncio.run(ask_async(app, method, path, content, given))


@contextmanager
def real_server(store: Path, *options: str, environment: dict[str, str] | None = None):
    """`realloc serve` as a process of its own: its port, the process and the path of its log."""
    log = store.parent / "service.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                MAIN,
                "serve",
                "--store",
                store,
                "--port",
                "0",
                *options,
            ],
            stderr=sink,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        )
    try:
        yield wait_for_port(process, log), process, log
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def wait_for_port(process: subprocess.Popen, log: Path) -> int:
    for _ in range(1200):
        found = re.search(rb"at http://[^ ]*:(\d+) ", log.read_bytes())
        if found:
            return int(found[1])
        if process.poll() is not None:
            raise AssertionError(log.read_text())
        time.sleep(0.05)
    raise AssertionError("the service did not start: " + log.read_text())


def call(port: int, path: str, body=None, **headers: str) -> Answer:
    """One request to a real service."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    given = {"content-type": "application/json"} | {
        k.replace("_", "-"): v for k, v in headers.items()
    }
    content = body if isinstance(body, bytes | None) else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, content, given)
    reply = connection.getresponse()
    found = Answer(
        reply.status,
        {name.lower(): value for name, value in reply.getheaders()},
        reply.read(),
    )
    connection.close()
    return found
