"""Broken requests in numbers: mutated bytes in process, schemathesis, and raw sockets.

    python benchmarks/faults_service.py [--requests 90000] [--cases 2000] [--sockets 10000]
                                        [--kills 100]

Expected: no 5xx, no traceback, no internals in a body and no hang; memory, threads and open files
do not grow, and a planted leak is seen; real services that are killed lose none of their answers
from the decision log, and an audit decides them again alike. Exits with 1 otherwise.
"""

import argparse
import gc
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # the same requests as in the tests

from tests.serve.http.asking import (
    INTERNALS,
    ask,
    call,
    make_store,
    open_app,
    real_server,
    some_rows,
)
from tests.serve.http.fuzz import draw_request, mutate
from tests.serve.http.test_fuzz import fuzz
from tests.serve.http.test_protocol import GARBAGE
from tests.serve.http.test_records import ask_until_killed

from realloc.monitor.redecide import audit
from realloc.serve.http.app import App
from realloc.storage.ledger import Ledger
from realloc.storage.ledger.journal import recover
from realloc.storage.store import Store

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "faults_service.json"
HANG = 30.0  # seconds


def in_process(app: App, count: int) -> dict:
    """Mutated bodies, headers, methods and paths through ASGI."""
    begun = time.process_time()
    statuses = Counter()
    wrong = []
    for part in range(max(1, count // 5000)):
        some, faults = fuzz(app, min(5000, count), part + 1)
        statuses += some
        wrong += faults
        print(f"  {statuses.total():,} requests in process, {len(wrong)} wrong", flush=True)
    took = time.process_time() - begun
    return {
        "requests": sum(statuses.values()),
        "statuses": _plain(statuses),
        "wrong": len(wrong),
        "cpu_seconds": took,
    } | ({"first_wrong": repr(wrong[0])[:2000]} if wrong else {})


def memory() -> float:
    """MiB that this process holds."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def holdings() -> dict[str, float]:
    gc.collect()
    return {
        "mib": memory(),
        "threads": threading.active_count(),
        "files": len(os.listdir("/proc/self/fd")),
    }


def leaks(app: App, count: int) -> dict:
    """What grows over many good requests; and over a tenth of them with a planted leak."""
    body = {"rows": some_rows(1)}
    left = []
    fuzz(app, 2000, 0)
    for _ in range(200):
        ask(app, "/v1/recommend", body)
    before = holdings()
    for _ in range(count):
        ask(app, "/v1/recommend", body)
    after = holdings()
    for _ in range(count // 10):
        left.append(ask(app, "/v1/recommend", body).body * 200)
    planted = holdings()["mib"] - after["mib"]
    grown = {name: round(after[name] - before[name], 1) for name in before}
    return {"requests": count, "grown": grown, "planted_leak_mib": round(planted, 1)}


def killed(store: Path, count: int) -> dict:
    """Real services killed under load, one after the other, on one store."""
    answered = lost = 0
    draw = random.Random(0)
    for number in range(count):
        answers = set(ask_until_killed(store, draw.randint(1, 60)))
        ledger = Ledger(store / "decisions")
        recover(ledger)
        newest = [entry for entry in ledger.entries() if entry.kind == "service"][-1]
        written = {
            (row["unit"], row["inputs"]["budget"], row["gain"])
            for table in ledger.read(newest)
            for row in table.to_pylist()
        }
        answered += len(answers)
        lost += len(answers - written)
        if number % 20 == 19:
            print(f"  {number + 1} kills, {answered:,} answers, {lost} lost", flush=True)
    replays = list(audit(Store(store), Ledger(store / "decisions")))
    return {
        "kills": count,
        "answers": answered,
        "lost": lost,
        "faults_of_the_log": len(Ledger(store / "decisions").verify()),
        "decided_again": sum(one.rows for one in replays),
        "differ": sum(one.differ for one in replays),
        "not_decided_again": sum(one.problem is not None for one in replays),
    }


def by_schema(app: App, cases: int) -> dict:
    """What schemathesis makes of our own OpenAPI document."""
    try:
        import schemathesis  # pyright: ignore[reportMissingImports]
        from hypothesis import HealthCheck, Phase, given, settings
    except ImportError:
        return {"installed": False}
    quiet = settings(
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    schema = schemathesis.openapi.from_dict(ask(app, "/openapi.json").json)
    statuses = Counter()
    wrong = []
    for operation in (result.ok() for result in schema.get_all_operations()):

        @given(case=operation.as_strategy())
        @settings(quiet, max_examples=cases)
        def one(case) -> None:
            body = (
                b""
                if case.method == "GET"
                else json.dumps(_json(case.body)).encode("utf-8", "surrogatepass")
            )
            answer = ask(app, operation.path, body or None, case.method)  # noqa: B023
            statuses[answer.status] += 1
            if answer.status >= 500 or (
                answer.status >= 400 and any(word in answer.body for word in INTERNALS)
            ):
                wrong.append((operation.path, answer.status, body[:500]))  # noqa: B023

        one()
    return {
        "installed": True,
        "requests": sum(statuses.values()),
        "statuses": _plain(statuses),
        "wrong": len(wrong),
    } | ({"first_wrong": repr(wrong[0])} if wrong else {})


def by_socket(store: Path, count: int) -> dict:
    """Bytes that are hardly HTTP, on many connections."""
    draw = random.Random(0)
    wrong = []
    statuses = Counter()
    settings = store.parent / "serve.toml"
    settings.write_text("[serve]\nheader_seconds = 1.0\nbody_seconds = 1.0\n")
    with real_server(store, "--config", str(settings), "--quiet") as (port, process, log):
        for number in range(count):
            begun = time.monotonic()
            with socket.create_connection(("127.0.0.1", port), timeout=HANG) as client:
                reply = _talk(client, _strange(draw))
            if (
                time.monotonic() - begun > HANG
                or b" 500 " in reply[:20]
                or any(w in reply for w in (b"Traceback", b'File "'))
            ):
                wrong.append(reply[:200])
            statuses[reply[9:12].decode("latin-1") or "closed_unanswered"] += 1
            if number % 2000 == 1999:
                print(f"  {number + 1:,} connections, {len(wrong)} wrong", flush=True)
        alive = (
            process.poll() is None
            and call(port, "/v1/recommend", {"rows": some_rows(2)}).status == 200
        )
        traced = "Traceback" in log.read_text()
    return {
        "connections": count,
        "answers": dict(statuses),
        "wrong": len(wrong),
        "alive_after": alive,
        "tracebacks_in_log": traced,
        "exit_code": process.returncode,
    }


def _strange(draw: random.Random) -> bytes:
    """A request with some of its bytes changed; it always ends the connection."""
    method, path, body, headers = draw_request(draw)
    head = f"{method} {path} HTTP/1.1\r\n".encode("utf-8", "replace")
    lines = "".join(
        f"{name}: {value}\r\n"
        for name, value in {"content-length": str(len(body)), **headers}.items()
    )
    content = head + lines.encode("utf-8", "replace") + b"connection: close\r\n\r\n" + body
    if draw.random() < 0.5:
        cut = len(head) + len(lines)
        content = mutate(draw, content[:cut]) + content[cut:]
    if draw.random() < 0.02:
        content = b"".join(draw.choice([parts for parts in GARBAGE.values() if parts]))[
            :200_000
        ]
    return content


def _talk(client: socket.socket, content: bytes) -> bytes:
    reply = b""
    try:
        client.sendall(content)
        client.shutdown(
            socket.SHUT_WR
        )  # nothing more will come: who waits for more is told so
        while part := client.recv(65536):
            reply += part
    except TimeoutError:
        return b"HTTP/1.1 500 hang"
    except OSError:  # closed before all was said
        pass
    return reply


def _json(value):
    """What JSON can say; schemathesis marks a body that is left out."""
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else None


def _plain(statuses: Counter) -> dict[str, int]:
    return {str(status): count for status, count in sorted(statuses.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=90_000)
    parser.add_argument(
        "--cases", type=int, default=1_000, help="of schemathesis, for each route"
    )
    parser.add_argument("--sockets", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--leaks", type=int, default=5_000)
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    with tempfile.TemporaryDirectory() as place:
        store = make_store(Path(place) / "store").path
        app = open_app(store, constraints=True)
        results = {
            "commit": commit.stdout.strip(),
            "in_process": in_process(app, options.requests),
        }
        results["schemathesis"] = by_schema(app, options.cases)
        results["no_internal_failure"] = (
            b"realloc_internal_failures_total 0.0" in ask(app, "/metrics").body
        )
        results["alive_after"] = (
            ask(app, "/v1/recommend", {"rows": some_rows(2)}).status == 200
        )
        results["leaks"] = leaks(app, options.leaks)
        results["sockets"] = by_socket(store, options.sockets)
        other = make_store(Path(place) / "other" / "store").path
        results["killed"] = killed(other, options.kills)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps(results, indent=2))
    wrong = (
        results["in_process"]["wrong"]
        + results["schemathesis"].get("wrong", 0)
        + results["sockets"]["wrong"]
    )
    sockets = results["sockets"]
    fine = (
        results["no_internal_failure"]
        and results["alive_after"]
        and sockets["alive_after"]
        and not sockets["tracebacks_in_log"]
        and results["leaks"]["grown"]["mib"] < 20 < results["leaks"]["planted_leak_mib"]
        and results["leaks"]["grown"]["threads"] == 0
        and results["leaks"]["grown"]["files"] <= 1  # a journal may have been begun
        and not any(
            results["killed"][name]
            for name in ("lost", "differ", "faults_of_the_log", "not_decided_again")
        )
    )
    raise SystemExit(0 if fine and not wrong else 1)


if __name__ == "__main__":
    main()
