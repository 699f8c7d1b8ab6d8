"""Run the console: its own process and port, on uvicorn."""

import logging
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from realloc.base.errors import ConfigError
from realloc.console.app import make_console
from realloc.console.guard import Guard
from realloc.console.roles import READ, read_role_tokens
from realloc.console.source import ConsoleSource
from realloc.serve.http.auth import allowed_hosts, is_loopback
from realloc.storage.store import Store

log = logging.getLogger("realloc.console")
MOST_CONNECTIONS = 100
KEEP_ALIVE_SECONDS = 5
MOST_HEADER_BYTES = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class ConsoleSettings:
    """What the console shows, to whom, and where it listens."""

    store: Path
    decisions: Path | None = None
    runs: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    role: str = READ
    token_file: Path | None = None
    allow_hosts: tuple[str, ...] = ()
    allow_network: bool = False


def open_console(settings: ConsoleSettings) -> Guard:
    """The application, with the newest run in memory."""
    if settings.token_file is None and settings.role != READ:
        raise ConfigError(
            f"Expected `--token-file` with `--role {settings.role}`: whoever changes something is "
            "named in the decision log. Each line is `<token> <role> <name>`."
        )
    if settings.token_file is None and not is_loopback(settings.host):
        raise ConfigError(
            f"Expected `--token-file` to listen at {settings.host!r}, where other machines can "
            "call. Each line is `<token> <role> <name>`."
        )
    tokens = None
    if settings.token_file is not None:
        tokens = read_role_tokens(settings.token_file, settings.role)
    if settings.runs is not None and not settings.runs.is_dir():
        raise ConfigError(
            f"Expected a folder of evaluations as `--runs`, got {str(settings.runs)!r}."
        )
    hosts = allowed_hosts(settings.host, settings.allow_hosts)
    store = Store(settings.store, allow_network=settings.allow_network)
    source = ConsoleSource(store, settings.decisions, settings.runs)
    source.warm()
    return make_console(source, tokens, hosts)


def run_console(settings: ConsoleSettings) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        place = (settings.host.strip("[]"), settings.port)
        listening = socket.create_server(place, family=family)
    except OSError as problem:
        raise ConfigError(
            f"Expected to listen at {settings.host!r}, port {settings.port}, but it failed: "
            f"{problem.strerror or problem}. Choose another port with `--port`."
        ) from problem
    app = open_console(settings)
    port = listening.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    print(  # noqa: T201  for people, and for scripts that wait for the port
        f"realloc: console of {settings.store.name} at http://{host}:{port}",
        file=sys.stderr,
        flush=True,
    )
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=3,
            h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        )
    )
    server.run(sockets=[listening])
