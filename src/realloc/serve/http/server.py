"""Run the service: one process, one port, uvicorn below. Slow and broken clients are closed, SIGTERM drains."""

import gc
import logging
import signal
import socket
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn

from realloc.base.errors import ConfigError
from realloc.serve.http.app import App
from realloc.serve.http.auth import allowed_hosts, is_loopback, read_tokens
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.metrics import Metrics
from realloc.serve.http.protocol import guarded
from realloc.serve.http.queue import Line
from realloc.serve.http.versions import Versions

log = logging.getLogger("realloc.serve.http")

LONGEST_HEADER = 16 * 1024
LET_IN, MOST_WAITING = (
    32,
    1024,
)  # connections that are let in between two looks at the others, and that wait for it
SWITCH_SECONDS = 0.001  # after which a thread that scores lets the one that talks go on; by default five times as long


class Server(uvicorn.Server):
    """Lets in few at a time, and lets many wait: else whoever comes new keeps those from being heard who are in already."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; asyncio takes one number for both, and has set it by now."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(MOST_WAITING)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where to listen, and who may call."""

    host: str = "127.0.0.1"
    port: int = 8000
    token_file: Path | None = None


def make_app(store: Path, config: ServeConfig, address: Address) -> App:
    """The application, with the current version loaded and both threads running."""
    tokens = read_tokens(address.token_file)
    if tokens is None and not is_loopback(address.host):
        raise ConfigError(
            f"Expected a token to serve at {address.host!r}, where other machines can call. Put one into a file and give it by "
            "`--token-file`, or into the environment as REALLOC_TOKEN."
        )
    hosts = allowed_hosts(address.host, config.allow_hosts)
    versions = Versions(store, config, Metrics())
    versions.records.open()
    versions.start()
    line = Line(versions)
    line.start()
    return App(versions, line, tokens, hosts)


def run(store: Path, config: ServeConfig, address: Address) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    begun = time.perf_counter()
    sys.setswitchinterval(SWITCH_SECONDS)
    listening = _listen(address)
    app = make_app(store, config, replace(address, port=listening.getsockname()[1]))
    gc.freeze()  # what is there now stays: a collection need not look at it while requests wait
    settings = uvicorn.Config(
        app,
        http=guarded(config.connections, config.header_seconds),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=config.keep_alive_seconds,
        timeout_graceful_shutdown=max(1, int(config.drain_seconds)),
        h11_max_incomplete_event_size=LONGEST_HEADER,
        backlog=LET_IN,
    )
    listening.listen(MOST_WAITING)  # whoever reads the line below may call at once
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    told = app.versions.current
    what = f"version {told.version.number}" if told and told.scorer else "no version yet"
    print(  # noqa: T201
        f"realloc: serving {what} at http://{shown}:{port} (loaded in {time.perf_counter() - begun:.2f} s)",
        file=sys.stderr,
        flush=True,
    )
    if app.tokens is None:
        log.warning("no token is asked for: only this machine can call")
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # uvicorn drains at them, then raises them again: that is no failure
        signal.signal(number, lambda *_: None)
    try:
        Server(settings).run(sockets=[listening])
    finally:
        app.versions.stop()
        app.line.stop()


def _listen(address: Address) -> socket.socket:
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, place = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
        except OSError:
            listening.close()
            raise
    except OSError as problem:
        raise ConfigError(
            f"Expected to listen at {address.host!r}, port {address.port}, but it failed: {problem.strerror or problem}."
        ) from problem
    return listening
