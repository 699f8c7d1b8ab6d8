"""A real service and clients that speak no proper HTTP: each is closed in time, untraced."""

import asyncio
import contextlib
import json
import re
import socket
import time

import pytest

from realloc.serve.http.protocol import BufferedTransport
from tests.serve.http.asking import call, real_server, some_rows

BODY = json.dumps({"rows": some_rows(2)}).encode()
POST = (
    b"POST /v1/recommend HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
)
TOKEN = "sign" * 6


@pytest.fixture(scope="module")
def server(made):
    settings = made.parent / "serve.toml"
    settings.write_text(
        "[serve]\nheader_seconds = 1.0\nbody_seconds = 1.0\n"
        "keep_alive_seconds = 1\nconnections = 40\n"
    )
    with real_server(
        made, "--config", str(settings), environment={"REALLOC_TOKEN": TOKEN}
    ) as found:
        yield found


def talk(port, *parts, pause=0.0, half_close=False, wait=30.0):
    """Send bytes, then read until the other side closes; what came, and how long it took."""
    begun = time.monotonic()
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as client:
        try:
            for part in parts:
                client.sendall(part)
                time.sleep(pause)
            if half_close:
                client.shutdown(socket.SHUT_WR)
            while part := client.recv(65536):
                found += part
        except (ConnectionError, BrokenPipeError):
            pass
    return found, time.monotonic() - begun


GARBAGE = {
    "nothing at all": (),
    "half a line": (b"GET /hea",),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,),
    "NULs": (b"\x00" * 5000,),
    "a header without end": (b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 10_000_000,),
    "many headers": (b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 100_000,),
    "bad length": (POST + b"Content-Length: -5\r\n\r\n",),
    "two lengths": (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",),
    "bad chunks": (POST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nabc\r\n",),
    "length and chunks": (
        POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "a body that stops": (POST + b"Content-Length: 5000\r\n\r\n{",),
    "an early answer": (POST + b"Content-Length: 99999999\r\n\r\n" + b"x" * 1000,),
    "pipelined garbage": (
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        + b"\xff\xff garbage\r\n\r\n" * 20,
    ),
    "an upgrade": (
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: upgrade\r\n"
        b"Upgrade: websocket\r\n\r\n\x81\x05hello",
    ),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 60,),
    "HTTP/9": (b"GET / HTTP/9.9\r\n\r\n",),
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n",),
    "smuggled": (
        POST + b"Content-Length: 0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    ),
}


@pytest.mark.parametrize("parts", GARBAGE.values(), ids=GARBAGE.keys())
def test_broken_clients_are_ended_in_time_and_told_nothing(server, parts):
    port, process, log = server
    found, took = talk(port, *parts)
    assert took < 15
    assert b" 500 " not in found
    assert not re.search(rb'Traceback|File "|site-packages', found)
    assert process.poll() is None
    assert call(port, "/healthz").status == 200
    assert "Traceback" not in log.read_text()


PAUSED = {
    "bad chunks after the answer": (
        POST + b"Transfer-Encoding: chunked\r\n\r\n",
        b"ZZ\r\nabc\r\n",
        b"more",
    ),
    "no HTTP after the answer": (
        POST + b"Content-Length: 3\r\n\r\n",
        b"abc\x00\xff\r\n\r\n",
        b"more",
    ),
    "no HTTP after half an answer": (
        POST
        + f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()
        + BODY[:-1],
        BODY[-1:] + b"\x00\xff\r\n\r\n",
        b"more",
    ),
    "an old client after the answer": (
        POST.replace(b"1.1", b"1.0") + b"Content-Length: 9\r\n\r\n",
        b"123456789GET / HTTP",
        b"\x00",
    ),
}


@pytest.mark.parametrize("parts", PAUSED.values(), ids=PAUSED.keys())
def test_so_are_those_that_break_off_later(server, parts):
    port, process, log = server
    found, took = talk(port, *parts, pause=0.2)
    assert took < 15
    assert found.count(b"HTTP/1.1 ") <= 2
    assert process.poll() is None
    assert "Traceback" not in log.read_text()


def test_a_slow_loris_is_closed_while_others_are_answered(server):
    port, process, _ = server
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    try:
        begun = time.monotonic()
        for client in slow:
            client.sendall(b"GET /healthz HTTP/1.1\r\nX-a: ")
        assert call(port, "/healthz").status == 200
        for client in slow:
            client.settimeout(15)
            try:
                while client.recv(100):
                    pass
            except ConnectionError:
                pass
        assert time.monotonic() - begun < 15  # a second is allowed; the machine may be busy
    finally:
        for client in slow:
            client.close()
    assert process.poll() is None


def test_over_the_limit_connections_are_answered_503_or_closed_and_counted(server):
    port, _, _ = server
    many = []
    found = []
    for _ in range(100):  # 40 may be there, and as many again are told
        many.append(socket.create_connection(("127.0.0.1", port), timeout=15))
        time.sleep(
            0.005
        )  # or they wait for each other, and the first are closed before the last is there
    for client in many:
        with contextlib.suppress(ConnectionError):
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    for client in many:
        with contextlib.suppress(ConnectionError):
            found.append(client.recv(1000))
        client.close()
    assert 0 < sum(answer.startswith(b"HTTP/1.1 200 ") for answer in found) <= 40
    refused = [answer for answer in found if answer.startswith(b"HTTP/1.1 503 ")]
    assert 0 < len(refused) <= 40
    head, _, body = refused[0].partition(b"\r\n\r\n")
    assert b"retry-after: 1" in head
    assert json.loads(body)["error"] == "too_busy"
    time.sleep(0.5)
    metrics = call(port, "/metrics", authorization=f"Bearer {TOKEN}")
    assert metrics.status == 200
    counts = {
        outcome.decode(): float(count)
        for outcome, count in re.findall(
            rb'realloc_refused_connections_total{outcome="(\w+)"} (\S+)', metrics.body
        )
    }
    assert counts["answered_503"] >= len(refused)
    assert counts["closed_over_limit"] > 0


def test_headers_are_bounded(server):
    ask = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nX: "
    assert talk(server[0], ask + b"a" * 10_000 + b"\r\n\r\n")[0].startswith(
        b"HTTP/1.1 200 "
    )
    assert talk(server[0], ask + b"a" * 30_000)[0].startswith(b"HTTP/1.1 400 ")


def test_a_half_closed_client_is_answered(server):
    port, _, log = server
    head = (
        POST
        + f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()
    )
    found, took = talk(port, head + BODY, half_close=True)
    assert found.startswith(b"HTTP/1.1 200 ")
    assert took < 15
    assert talk(port, head + BODY[:9], half_close=True)[0] == b""  # half a request is none
    assert "Traceback" not in log.read_text()


def test_two_requests_in_one_breath_are_both_answered(server):
    port, _, _ = server
    head = (
        POST + f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(BODY)}\r\n".encode()
    )
    found, _ = talk(
        port, head + b"\r\n" + BODY + head + b"Connection: close\r\n\r\n" + BODY
    )
    assert found.count(b"HTTP/1.1 200 ") == 2


def test_a_good_client_is_answered_and_its_token_is_in_no_log(server):
    port, _, log = server
    assert call(port, "/v1/recommend", BODY).status == 401
    found = call(port, "/v1/recommend", BODY, authorization=f"Bearer {TOKEN}")
    assert (found.status, found.json["version"]) == (200, 2)
    assert "server" not in found.headers
    text = log.read_text()
    assert "/v1/recommend 200" in text
    assert TOKEN not in text
    assert "s99-item" not in text  # nor what was asked


class Wire:
    """Stands for a transport."""

    def __init__(self):
        self.sent = []
        self.closed = False

    def write(self, data):
        self.sent.append(data)

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed


def test_headers_and_body_are_sent_at_once_and_all_before_the_end():
    wire = Wire()

    async def run():
        sink = BufferedTransport(wire, asyncio.get_running_loop())
        sink.write(b"head")
        sink.write(b"body")
        assert wire.sent == []
        await asyncio.sleep(0)
        assert wire.sent == [b"headbody"]
        sink.write(b"the ")
        sink.write(b"last")
        sink.close()
        assert sink.is_closing()

    asyncio.run(run())
    assert wire.sent == [b"headbody", b"the last"]
