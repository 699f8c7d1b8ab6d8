"""What is not safe does not start, and a port that is taken is said."""

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import uvicorn

from realloc.base.errors import ConfigError
from realloc.serve.http import server as server_module
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.server import Address, make_app, run
from realloc.storage.ledger import Ledger
from tests.serve.http.asking import MAIN, call, real_server, some_rows


def test_a_port_that_is_taken_is_said(made):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError,
            match=f"Expected to listen at '127.0.0.1', port {port}, but it failed",
        ):
            run(made, ServeConfig(), Address(port=port))


def test_beyond_this_machine_a_token_is_needed(made):
    with pytest.raises(ConfigError, match="Expected a token to serve at"):
        make_app(made, ServeConfig(allow_hosts=("x",)), Address(host="0.0.0.0"))  # noqa: S104


def test_what_is_not_safe_does_not_start(made):
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            MAIN,
            "serve",
            "--store",
            made,
            "--port",
            "0",
            "--token-file",
            "/nowhere",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("realloc: Expected a file of tokens at '/nowhere'")
    assert "Traceback" not in ran.stderr


def test_sigterm_answers_what_is_under_way_and_ends_well(own):
    with real_server(own) as (port, process, log):
        found = []
        threads = [
            threading.Thread(
                target=lambda: found.append(
                    call(port, "/v1/batch", {"rows": some_rows(40)}).status
                )
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert process.wait(30) == 0
        assert [status for status in found if status != 200] == []
    assert "Traceback" not in log.read_text()
    assert (
        sum(entry.rows for entry in Ledger(own / "decisions").entries()) == 160
    )  # and all of it is in the log


def test_few_connections_are_accepted_at_a_time_and_many_may_wait(monkeypatch):
    """asyncio uses one number for both, so the backlog is set again once it listens."""
    told = []

    class Socket:
        def listen(self, most):
            told.append(most)

    async def begin(self, sockets=None):
        told.append("uvicorn")

    monkeypatch.setattr("uvicorn.Server.startup", begin)
    asyncio.run(
        server_module.Server(
            uvicorn.Config("", backlog=server_module.ACCEPT_BACKLOG)
        ).startup([Socket()])
    )
    assert told == ["uvicorn", server_module.LISTEN_BACKLOG]
    assert server_module.ACCEPT_BACKLOG < server_module.LISTEN_BACKLOG
