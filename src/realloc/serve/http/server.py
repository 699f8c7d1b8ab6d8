"""Run the service: one process and one port, on uvicorn. SIGTERM drains the request queue."""

import gc
import logging
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from realloc.base.errors import ConfigError
from realloc.serve.http.app import App
from realloc.serve.http.auth import allowed_hosts, is_loopback, read_tokens
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.metrics import Metrics
from realloc.serve.http.protocol import limited_protocol
from realloc.serve.http.queue import RequestQueue
from realloc.serve.http.versions import Versions

log = logging.getLogger("realloc.serve.http")

MAX_HEADER_BYTES = 16 * 1024
ACCEPT_BACKLOG = 32  # connections that asyncio accepts before it serves the others again
LISTEN_BACKLOG = 1024  # connections that the kernel holds until they are accepted
# After this time a thread that decides lets the event loop run; Python's default is 0.005.
SWITCH_SECONDS = 0.001


class Server(uvicorn.Server):
    """Accepts few connections at a time, so that new ones do not delay those that are served."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; asyncio sets both numbers to the first one, so the second is set again here."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(LISTEN_BACKLOG)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where to listen, and the file of tokens."""

    host: str = "127.0.0.1"
    port: int = 8000
    token_file: Path | None = None


def make_app(store: Path, config: ServeConfig, address: Address) -> App:
    """Return the application with the current version loaded and its threads running."""
    tokens = read_tokens(address.token_file)
    if tokens is None and not is_loopback(address.host):
        raise ConfigError(
            f"Expected a token to serve at {address.host!r}, where other machines can call. Put "
            "one into a file and give it by `--token-file`, or set REALLOC_TOKEN."
        )
    hosts = allowed_hosts(address.host, config.allow_hosts)
    versions = Versions(store, config, Metrics())
    versions.records.open()
    versions.start()
    queue = RequestQueue(versions)
    queue.start()
    return App(versions, queue, tokens, hosts)


def run(store: Path, config: ServeConfig, address: Address) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    begun = time.perf_counter()
    sys.setswitchinterval(SWITCH_SECONDS)
    listening = _listen(address)
    app = make_app(store, config, address)
    gc.freeze()  # what is loaded now stays: collections need not visit it
    settings = uvicorn.Config(
        app,
        http=limited_protocol(config, app.metrics),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=config.keep_alive_seconds,
        timeout_graceful_shutdown=max(1, int(config.drain_seconds)),
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        backlog=ACCEPT_BACKLOG,
    )
    host, port = listening.getsockname()[:2]
    address_shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    current = app.versions.current
    version = (
        f"version {current.record.number}"
        if current and current.model
        else "no version yet"
    )
    seconds = time.perf_counter() - begun
    print(  # noqa: T201  for people and for scripts that wait for the port
        f"realloc: serving {version} at http://{address_shown} (loaded in {seconds:.2f} s)",
        file=sys.stderr,
        flush=True,
    )
    if app.tokens is None:
        log.warning("no token is needed: only this machine can call")
    # uvicorn drains at these signals, then raises them again: that is no failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    try:
        Server(settings).run(sockets=[listening])
    finally:
        app.versions.stop()
        app.queue.stop()


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    place = (address.host.strip("[]"), address.port)
    try:
        return socket.create_server(place, family=family, backlog=LISTEN_BACKLOG)
    except OSError as problem:
        raise ConfigError(
            f"Expected to listen at {address.host!r}, port {address.port}, but it failed: "
            f"{problem.strerror or problem}."
        ) from problem
