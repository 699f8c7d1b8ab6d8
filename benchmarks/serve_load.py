"""The service under load: ratios of one run. CPU per request against the bare scorer, latency at half capacity, what happens at
twice capacity, the batch route, and swaps of versions while requests run.

    python benchmarks/serve_load.py [--seconds 60] [--swaps 200]

The client is open-loop: requests are due at times drawn beforehand, and latency counts from when a request was due, so that a
service that stalls cannot hide it. Client and service share the machine's cores, so only ratios mean something. The model has the
sizes of the default config (19 columns, 5 members, 1,000 inducing rows, 12,000 remembered actions), learned in a hurry.
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
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # models and rows of the tests

import numpy as np
import pyarrow as pa
from tests.serve.http.asking import wait_for_port
from tests.small import CONFIG

from realloc import ReAlloc, World
from realloc import serve as serving
from realloc.learn.student import StudentConfig
from realloc.learn.teacher.config import KernelConfig
from realloc.storage.store import Store

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "serve_load.json"
MAIN = "from realloc.cli.main import main; main()"
TICK = os.sysconf("SC_CLK_TCK")
STALE = 2.0  # seconds
MANY = 128  # clients that ask without a pause: as many as the service takes together


def make_store(place: Path) -> Store:
    """Two versions of a model of the default sizes."""
    config = replace(
        CONFIG,
        teacher=replace(CONFIG.teacher, members=5),
        kernel=KernelConfig(),  # what it has learned says how many directions of doubt there are
        student=StudentConfig(epochs=1, later_epochs=1, least_steps=200),
        support=replace(CONFIG.support, rows=12_000, members=16),
        memory=replace(CONFIG.memory, capacity=4000),
    )
    world, store = World("medium", seed=1), Store(place)
    first, second = (world.sample(units=1500, periods=8, seed=seed) for seed in (0, 1))
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
    listed = frame.assign(date=frame.date.astype(str)).to_dict(orient="records")
    return [json.dumps({"rows": listed[i * rows : (i + 1) * rows]}).encode() for i in range(count)]


def request(path: str, body: bytes | None = None) -> bytes:
    if body is None:
        return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Client:
    """Connections that are kept and reused."""

    def __init__(self, port: int) -> None:
        self.port, self.free = (
            port,
            list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]](),
        )

    def close(self) -> None:
        """Let go of connections that nobody needs now."""
        while self.free:
            self.free.pop()[2].close()

    async def ask(self, content: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        while (
            self.free and time.monotonic() - self.free[-1][0] > STALE
        ):  # the service closes idle ones after 5 s
            self.free.pop()[2].close()
        _, reader, writer = (
            self.free.pop()
            if self.free
            else (0, *await asyncio.open_connection("127.0.0.1", self.port))
        )
        writer.write(content)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            writer.close()
        else:
            self.free.append((time.monotonic(), reader, writer))
        return int(head[0].split()[1]), headers, body


def cpu_of(process: subprocess.Popen) -> float:
    parts = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICK


async def closed_loop(
    client: Client, contents: list[bytes], clients: int, seconds: float
) -> tuple[int, float]:
    """As fast as some clients can, one request after the other: requests answered, and seconds."""
    begun, done = time.perf_counter(), 0

    async def one(number: int) -> None:
        nonlocal done
        while time.perf_counter() - begun < seconds:
            status, _, _ = await client.ask(contents[(number + done) % len(contents)])
            done += status == 200

    await asyncio.gather(*(one(number) for number in range(clients)))
    return done, time.perf_counter() - begun


async def open_loop(
    client: Client, kinds: list[tuple[str, float, list[bytes]]], seconds: float, seed: int
) -> dict:
    """Requests of several kinds at their own rates; latencies from when each was due."""
    draw, due = random.Random(seed), []
    for name, rate, contents in kinds:
        at = 0.0
        while (at := at + draw.expovariate(rate)) < seconds:
            due.append((at, name, draw.choice(contents)))
    due.sort()
    found: dict[str, dict] = {
        name: {"latency": [], "statuses": Counter(), "retry": 0, "versions": Counter()}
        for name, _, _ in kinds
    }
    begun = time.perf_counter()

    async def one(at: float, name: str, content: bytes) -> None:
        try:
            status, headers, body = await client.ask(content)
        except (OSError, asyncio.IncompleteReadError) as problem:
            found[name]["statuses"][type(problem).__name__] += 1
            return
        found[name]["statuses"][status] += 1
        found[name]["retry"] += status in (429, 503) and "retry-after" in headers
        if status == 200:
            found[name]["latency"].append(time.perf_counter() - begun - at)
            if name == "recommend":
                found[name]["versions"][json.loads(body)["version"]] += 1

    tasks = []
    for at, name, content in due:
        await asyncio.sleep(max(0.0, at - (time.perf_counter() - begun)))
        tasks.append(asyncio.create_task(one(at, name, content)))
    await asyncio.gather(*tasks)
    return found


async def with_cores(process: subprocess.Popen, load) -> tuple[dict, dict]:
    """What a load found, and how many cores service and client took: on two cores they take them from each other."""
    begun, service, client = time.perf_counter(), cpu_of(process), time.process_time()
    found = await load
    took = time.perf_counter() - begun
    cores = {
        "service_cores": (cpu_of(process) - service) / took,
        "client_cores": (time.process_time() - client) / took,
    }
    return found, cores


def quantile(values: list[float], q: float) -> float:
    return float(np.quantile(values, q)) if values else float("nan")


def bare_scorer(store: Store, contents: list[bytes], count: int) -> float:
    """CPU seconds of one call of the scorer with one row that has been read already."""
    scorer = serving.open_model(max((store.path / "versions").iterdir()) / "model")
    tables = [pa.Table.from_pylist(json.loads(content)["rows"]) for content in contents[:count]]
    scorer.recommend(tables[0])
    begun = time.process_time()
    for table in tables:
        scorer.recommend(table)
    return (time.process_time() - begun) / len(tables)


async def measure(
    port: int, process: subprocess.Popen, store: Store, options: argparse.Namespace
) -> dict:
    client, single = Client(port), bodies(1, 200)
    asked = [request("/v1/recommend", body) for body in single]
    health = [request("/healthz")]
    await closed_loop(client, asked, 2, 2.0)  # warm
    told: dict = {}

    bare = bare_scorer(store, single, 40)
    before, (done, _) = cpu_of(process), await closed_loop(client, asked, 1, options.seconds / 6)
    alone = (cpu_of(process) - before) / done
    told["cpu_ms_bare_scorer"], told["cpu_ms_request_alone"] = bare * 1e3, alone * 1e3
    told["ratio_hot_path"] = alone / bare

    before, (done, took) = (
        cpu_of(process),
        await closed_loop(client, asked, MANY, options.seconds / 3),
    )
    told["cpu_ms_request_among_many"] = (cpu_of(process) - before) / done * 1e3
    capacity = told["capacity_requests_per_second"] = done / took

    kinds = [("recommend", capacity / 2, asked), ("health", 20, health)]
    half, cores = await with_cores(process, open_loop(client, kinds, options.seconds, 1))
    told["half"] = summary(half) | cores
    told["ratio_p99_to_health"] = (
        told["half"]["recommend"]["p99_ms"] / told["half"]["health"]["p99_ms"]
    )

    kinds = [("recommend", capacity * 2, asked), ("health", 20, health)]
    twice, cores = await with_cores(process, open_loop(client, kinds, options.seconds / 2, 2))
    told["twice"] = summary(twice) | cores
    answered = twice["recommend"]["statuses"][200] / (options.seconds / 2)
    told["ratio_answered_at_twice_to_capacity"] = answered / capacity
    told["refused_with_retry_after"] = twice["recommend"]["retry"]
    told["ratio_p99_at_twice_to_half"] = (
        told["twice"]["recommend"]["p99_ms"] / told["half"]["recommend"]["p99_ms"]
    )

    client.close()  # or the service would count them as clients
    many = [request("/v1/batch", body) for body in bodies(1000, 4)]
    before, (done, took) = cpu_of(process), await closed_loop(client, many, 2, options.seconds / 4)
    cpu = cpu_of(process) - before
    told["batch_decisions_per_second"] = done * 1000 / took
    told["batch_decisions_per_cpu_second"] = done * 1000 / cpu
    return told


def summary(found: dict) -> dict:
    return {
        name: {
            "statuses": {str(status): count for status, count in part["statuses"].items()},
            "p50_ms": quantile(part["latency"], 0.5) * 1e3,
            "p99_ms": quantile(part["latency"], 0.99) * 1e3,
        }
        for name, part in found.items()
    }


async def swap(port: int, store: Store, capacity: float, swaps: int) -> dict:
    """Versions come while requests run at a third of what is possible."""
    client, asked = Client(port), [request("/v1/recommend", body) for body in bodies(1, 50)]
    stop, made = threading.Event(), []

    def write() -> None:
        try:
            for number in range(swaps):
                made.append(store.rollback(to=store.current().number - 1).number)
                until = time.monotonic() + 20
                while (
                    number + 1 < swaps and time.monotonic() < until and seen.get(made[-1], 0) == 0
                ):
                    time.sleep(0.02)
        finally:
            stop.set()

    seen: dict[int, int] = {}
    statuses: Counter = Counter()
    order: list[int] = []

    latency: list[float] = []

    async def one() -> None:
        due = time.perf_counter()
        try:
            status, _, body = await client.ask(random.choice(asked))
        except (OSError, asyncio.IncompleteReadError) as problem:
            statuses[type(problem).__name__] += 1
            return
        latency.append(time.perf_counter() - due)
        statuses[status] += 1
        if status == 200:
            version = json.loads(body)["version"]
            seen[version] = seen.get(version, 0) + 1
            order.append(version)

    writer = threading.Thread(target=write)
    writer.start()
    tasks = []
    begun = time.perf_counter()
    while not stop.is_set():
        tasks.append(asyncio.create_task(one()))
        await asyncio.sleep(random.expovariate(capacity / 3))
    await asyncio.gather(*tasks)
    writer.join()
    return {
        "swaps": len(made),
        "seconds": time.perf_counter() - begun,
        "requests": sum(statuses.values()),
        "statuses": {str(status): count for status, count in statuses.items()},
        "failed": sum(count for status, count in statuses.items() if status != 200),
        "p50_ms": quantile(latency, 0.5) * 1e3,
        "p99_ms": quantile(latency, 0.99) * 1e3,
        "versions_that_answered": len(seen),
        "versions_unknown": len(set(seen) - {made[0] - 1, *made}),
    }


def with_bytecode(place: str) -> dict[str, str]:
    """The environment of a service that may keep and find bytecode, in a folder of this run's own."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(Path(place) / "bytecode")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--swaps", type=int, default=200)
    parser.add_argument("--store", type=Path, help="of an earlier run; swaps add versions to it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        kept = options.store or Path(place) / "store"
        store = Store(kept) if kept.exists() else make_store(kept)
        settings, log = Path(place) / "serve.toml", Path(place) / "service.log"
        settings.write_text("[serve]\npoll_seconds = 0.1\n")
        asked = ["serve", "--store", store.path, "--port", "0", "--quiet", "--config", settings]
        started = {}
        for name in (
            "first_start",
            "start",
        ):  # the first compiles Python to bytecode, as an installation does
            begun = time.perf_counter()
            with log.open("wb") as sink:
                process = subprocess.Popen(
                    [sys.executable, "-c", MAIN, *asked], stderr=sink, env=with_bytecode(place)
                )
            port = wait_for_port(process, log)
            started |= {
                f"{name}_seconds": time.perf_counter() - begun,
                f"{name}_cpu_seconds": cpu_of(process),
            }
            if name == "first_start":
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        try:
            told = asyncio.run(measure(port, process, store, options))
            print(json.dumps(told, indent=2), flush=True)
            told["swap"] = asyncio.run(
                swap(port, store, told["capacity_requests_per_second"], options.swaps)
            )
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        if "Traceback" in log.read_text():
            raise SystemExit(log.read_text()[-3000:])
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    told = (
        {
            "commit": commit.stdout.strip(),
            "seconds": options.seconds,
            "python": platform.python_version(),
        }
        | started
        | told
    )
    RESULTS.write_text(json.dumps(told, indent=2) + "\n")
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
