"""The service under load, with a client that shares its cores.

    python benchmarks/serve_load.py [--seconds 60] [--swaps 200]

CPU time per request against the bare scorer; latencies at half and at twice the capacity, in
milliseconds and against a health check; the batch route; swaps of versions while requests run.

The client is open-loop: requests are due at times drawn beforehand and latency counts from then, so
a service that stalls cannot hide it. A connection that is closed without a response is counted as
`closed_unanswered`, not as a refusal. The model has the sizes of the default config (19 columns, 5
members, 1,000 inducing rows, 12,000 remembered actions), fitted with few steps.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # models and rows of the tests

import numpy as np
import pyarrow as pa
from tests.serve.http.asking import wait_for_port
from tests.small import CONFIG

import realloc
from realloc import ReAlloc, World
from realloc.learn.student.config import StudentConfig
from realloc.learn.teacher.config import KernelConfig
from realloc.storage.store import Store

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "serve_load.json"
MAIN = "from realloc.cli.main import main; main()"
TICK = os.sysconf("SC_CLK_TCK")
IDLE_SECONDS = 2.0  # after which a connection is not reused; the service closes it after 5
CLIENTS = 128  # of the closed loop that measures the capacity


def make_store(place: Path) -> Store:
    """Two versions of a model of the default sizes."""
    config = replace(
        CONFIG,
        teacher=replace(CONFIG.teacher, members=5),
        kernel=KernelConfig(),
        student=StudentConfig(epochs=1, later_epochs=1, least_steps=200),
        support=replace(CONFIG.support, rows=12_000, members=16),
        memory=replace(CONFIG.memory, capacity=4000),
    )
    world = World("medium", seed=1)
    store = Store(place)
    first = world.sample(units=1500, periods=8, seed=0)
    second = world.sample(units=1500, periods=8, seed=1)
    store.commit(ReAlloc(config, quiet=True).fit(first), first)
    store.commit(store.load().update(second), second, allow_overlap=True)
    return store


def bodies(rows: int, count: int) -> list[bytes]:
    frame = (
        World("medium", seed=1)
        .sample(units=rows * count, periods=1, seed=7)
        .to_pandas()
        .drop(columns="orders")
    )
    records = frame.assign(date=frame.date.astype(str)).to_dict(orient="records")
    parts = [records[i * rows : (i + 1) * rows] for i in range(count)]
    return [json.dumps({"rows": part}).encode() for part in parts]


def request(path: str, body: bytes | None = None) -> bytes:
    if body is None:
        return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Client:
    """Connections that are kept open and reused."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.idle: list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]] = []

    def close(self) -> None:
        """Close connections that no request uses now."""
        while self.idle:
            self.idle.pop()[2].close()

    async def send(self, content: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send a request; return status, headers and body."""
        if self.idle and time.monotonic() - self.idle[-1][0] > IDLE_SECONDS:
            self.close()
        if self.idle:
            _, reader, writer = self.idle.pop()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(content)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            writer.close()
        else:
            self.idle.append((time.monotonic(), reader, writer))
        return int(head[0].split()[1]), headers, body


@dataclass
class Outcome:
    """What came of the requests of one kind."""

    latencies: list[float] = field(default_factory=list)  # seconds, of those answered 200
    statuses: Counter[int] = field(default_factory=Counter)
    closed_unanswered: int = 0
    retry_after: int = 0  # refusals that say when to come again
    versions: list[int] = field(default_factory=list)

    async def send(self, client: Client, content: bytes, due: float) -> None:
        """Send one request that was due at a time of `perf_counter`."""
        try:
            status, headers, body = await client.send(content)
        except (OSError, asyncio.IncompleteReadError):
            self.closed_unanswered += 1
            return
        self.statuses[status] += 1
        self.retry_after += status in (429, 503) and "retry-after" in headers
        if status == 200:
            self.latencies.append(time.perf_counter() - due)
            if b'"version"' in body:
                self.versions.append(json.loads(body)["version"])

    def summary(self) -> dict:
        """Return counts and latencies for the results."""
        statuses = {str(status): count for status, count in sorted(self.statuses.items())}
        return {
            "requests": self.statuses.total() + self.closed_unanswered,
            "statuses": statuses | {"closed_unanswered": self.closed_unanswered},
            "refused_with_retry_after": self.retry_after,
            "p50_ms": quantile(self.latencies, 0.5) * 1e3,
            "p99_ms": quantile(self.latencies, 0.99) * 1e3,
        }


def cpu_of(process: subprocess.Popen) -> float:
    parts = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICK


async def closed_loop(
    client: Client, contents: list[bytes], clients: int, seconds: float
) -> tuple[int, float]:
    """Some clients send one request after the other: requests answered, and seconds."""
    begun = time.perf_counter()
    done = 0

    async def one(number: int) -> None:
        nonlocal done
        while time.perf_counter() - begun < seconds:
            status, _, _ = await client.send(contents[(number + done) % len(contents)])
            done += status == 200

    await asyncio.gather(*(one(number) for number in range(clients)))
    return done, time.perf_counter() - begun


async def open_loop(
    client: Client, kinds: dict[str, tuple[float, list[bytes]]], seconds: float, seed: int
) -> dict[str, Outcome]:
    """Requests of several kinds, each at its own rate, for some seconds."""
    draw = random.Random(seed)
    plan: list[tuple[float, str, bytes]] = []
    for name, (rate, contents) in kinds.items():
        at = 0.0
        while (at := at + draw.expovariate(rate)) < seconds:
            plan.append((at, name, draw.choice(contents)))
    outcomes = {name: Outcome() for name in kinds}
    begun = time.perf_counter()
    tasks = []
    for at, name, content in sorted(plan):
        await asyncio.sleep(max(0.0, begun + at - time.perf_counter()))
        tasks.append(asyncio.create_task(outcomes[name].send(client, content, begun + at)))
    await asyncio.gather(*tasks)
    return outcomes


async def loaded(process: subprocess.Popen, load) -> dict:
    """Outcomes of a load, and the cores that service and client took from each other."""
    begun = time.perf_counter()
    service = cpu_of(process)
    client = time.process_time()
    outcomes = await load
    took = time.perf_counter() - begun
    return {name: outcome.summary() for name, outcome in outcomes.items()} | {
        "service_cores": (cpu_of(process) - service) / took,
        "client_cores": (time.process_time() - client) / took,
    }


def quantile(values: list[float], q: float) -> float:
    return float(np.quantile(values, q)) if values else float("nan")


def bare_scorer(store: Store, contents: list[bytes], count: int) -> float:
    """CPU seconds of one call of the scorer with one row that has been read already."""
    scorer = realloc.load(max((store.path / "versions").iterdir()) / "model")
    scorer.quiet = True
    tables = [
        pa.Table.from_pylist(json.loads(content)["rows"]) for content in contents[:count]
    ]
    scorer.recommend(tables[0])
    begun = time.process_time()
    for table in tables:
        scorer.recommend(table)
    return (time.process_time() - begun) / len(tables)


async def measure(
    port: int, process: subprocess.Popen, store: Store, options: argparse.Namespace
) -> dict:
    client = Client(port)
    single = bodies(1, 200)
    requests = [request("/v1/recommend", body) for body in single]
    health = [request("/healthz")]
    await closed_loop(client, requests, 2, 2.0)  # warm
    results: dict = {"cpu_ms_bare_scorer": bare_scorer(store, single, 40) * 1e3}

    before = cpu_of(process)
    done, _ = await closed_loop(client, requests, 1, options.seconds / 6)
    results["cpu_ms_request_alone"] = (cpu_of(process) - before) / done * 1e3
    results["ratio_hot_path"] = (
        results["cpu_ms_request_alone"] / results["cpu_ms_bare_scorer"]
    )

    before = cpu_of(process)
    done, took = await closed_loop(client, requests, CLIENTS, options.seconds / 3)
    results["cpu_ms_request_among_many"] = (cpu_of(process) - before) / done * 1e3
    capacity = results["capacity_requests_per_second"] = done / took

    kinds = {"recommend": (capacity / 2, requests), "health": (20, health)}
    half = await loaded(process, open_loop(client, kinds, options.seconds, 1))
    results["half"] = half
    results["ratio_p99_to_health"] = half["recommend"]["p99_ms"] / half["health"]["p99_ms"]

    kinds = {"recommend": (capacity * 2, requests), "health": (20, health)}
    twice = await loaded(process, open_loop(client, kinds, options.seconds / 2, 2))
    results["twice"] = twice
    answered = twice["recommend"]["statuses"].get("200", 0) / (options.seconds / 2)
    results["ratio_answered_at_twice_to_capacity"] = answered / capacity
    results["ratio_p99_at_twice_to_half"] = (
        twice["recommend"]["p99_ms"] / half["recommend"]["p99_ms"]
    )

    client.close()  # or the service would count them as connections
    many = [request("/v1/batch", body) for body in bodies(1000, 4)]
    before = cpu_of(process)
    done, took = await closed_loop(client, many, 2, options.seconds / 4)
    results["batch_decisions_per_second"] = done * 1000 / took
    results["batch_decisions_per_cpu_second"] = done * 1000 / (cpu_of(process) - before)
    return results


async def swap(port: int, store: Store, capacity: float, swaps: int) -> dict:
    """Swap versions while requests run at a third of the capacity."""
    client = Client(port)
    requests = [request("/v1/recommend", body) for body in bodies(1, 50)]
    outcome = Outcome()
    stop = threading.Event()
    made: list[int] = []

    def write() -> None:
        try:
            for number in range(swaps):
                made.append(store.rollback(to=store.current().number - 1).number)
                until = time.monotonic() + 20
                while number + 1 < swaps and time.monotonic() < until:
                    if made[-1] in outcome.versions[-100:]:
                        break
                    time.sleep(0.02)
        finally:
            stop.set()

    writer = threading.Thread(target=write)
    writer.start()
    tasks = []
    begun = time.perf_counter()
    while not stop.is_set():
        content = random.choice(requests)
        tasks.append(
            asyncio.create_task(outcome.send(client, content, time.perf_counter()))
        )
        await asyncio.sleep(random.expovariate(capacity / 3))
    await asyncio.gather(*tasks)
    writer.join()
    answered = outcome.statuses[200]
    seen = set(outcome.versions)
    summary = outcome.summary()
    return summary | {
        "swaps": len(made),
        "seconds": time.perf_counter() - begun,
        "failed": summary["requests"] - answered,
        "versions_that_answered": len(seen),
        "versions_unknown": len(seen - {made[0] - 1, *made}),
    }


def lines(results: dict) -> list[str]:
    """Latencies and refusals for people."""
    shown = []
    for name in ("half", "twice"):
        load = results[name]["recommend"]
        health = results[name]["health"]
        unanswered = load["statuses"]["closed_unanswered"]
        refused = load["requests"] - load["statuses"].get("200", 0) - unanswered
        shown.append(
            f"{name} the capacity: p50/p99 {load['p50_ms']:.0f}/{load['p99_ms']:.0f} ms "
            f"(health check {health['p50_ms']:.0f}/{health['p99_ms']:.0f} ms); of "
            f"{load['requests']:,} requests {refused:,} got 429 or 503, "
            f"{unanswered:,} were closed without a response"
        )
    return shown


def with_bytecode(place: str) -> dict[str, str]:
    """The environment of a service that keeps its bytecode in a folder of this run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE"
    }
    return kept | {"PYTHONPYCACHEPREFIX": str(Path(place) / "bytecode")}


def start(place: str, store: Store, log: Path) -> tuple[subprocess.Popen, int, float]:
    """Start a service; return its process, its port and the seconds until it could be called."""
    settings = Path(place) / "serve.toml"
    settings.write_text("[serve]\npoll_seconds = 0.1\n")
    command = [
        "serve",
        "--store",
        store.path,
        "--port",
        "0",
        "--quiet",
        "--config",
        settings,
    ]
    begun = time.perf_counter()
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, *command], stderr=sink, env=with_bytecode(place)
        )
    return process, wait_for_port(process, log), time.perf_counter() - begun


def end(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--swaps", type=int, default=200)
    parser.add_argument(
        "--store", type=Path, help="of an earlier run; swaps add versions to it"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    results: dict = {
        "commit": commit.stdout.strip(),
        "seconds": options.seconds,
        "python": platform.python_version(),
    }
    with tempfile.TemporaryDirectory() as place:
        path = options.store or Path(place) / "store"
        store = Store(path) if path.exists() else make_store(path)
        log = Path(place) / "service.log"
        # The first start compiles Python to bytecode, as an installation does.
        process, port, seconds = start(place, store, log)
        results |= {
            "first_start_seconds": seconds,
            "first_start_cpu_seconds": cpu_of(process),
        }
        end(process)
        process, port, seconds = start(place, store, log)
        results |= {"start_seconds": seconds, "start_cpu_seconds": cpu_of(process)}
        try:
            results |= asyncio.run(measure(port, process, store, options))
            capacity = results["capacity_requests_per_second"]
            results["swap"] = asyncio.run(swap(port, store, capacity, options.swaps))
        finally:
            end(process)
        if "Traceback" in log.read_text():
            raise SystemExit(log.read_text()[-3000:])
    text = json.dumps(results, indent=2)
    options.out.write_text(text + "\n")
    print(text, *lines(results), sep="\n")


if __name__ == "__main__":
    main()
