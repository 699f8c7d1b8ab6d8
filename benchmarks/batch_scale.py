"""A day's batch from Parquet to Parquet with everything on: seconds, CPU, memory; and what each
stage costs a row.

    python benchmarks/batch_scale.py [--rows 50000 500000] [--jobs 2] [--stages]

A model with the default config learns from 10,000 rows of the paper's world (kept under --folder,
so that it learns once).
`realloc recommend` then runs as a user would type it: reading, checking keys, deciding, publish
limits, decision log, output, summary.
Memory is the sum over its processes of what each holds alone plus its part of what is shared (PSS),
looked at every 0.2 s.
Other jobs on the machine stretch seconds; CPU seconds less so. The bar: 500,000 rows in 60 s and 2
GiB on 2 cores.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pyarrow.parquet as pq

import realloc
from realloc.storage.store import Store

RESULTS = Path(__file__).parent / "results" / "batch_scale.json"
COMMAND = "from realloc.cli.main import main; main()"


def prepare(folder: Path) -> Path:
    """A store with a model of the default config."""
    store = Store(folder / "store")
    if store.empty:
        logs = realloc.World("medium", seed=1).sample(units=2000, periods=5, seed=0)
        store.commit(realloc.ReAlloc(realloc.Config(seed=7), quiet=True).fit(logs), logs)
    return store.path


def draw(folder: Path, rows: int) -> Path:
    """Today's rows, of units that no model has seen."""
    path = folder / f"today-{rows}.parquet"
    if not path.exists():
        logs = realloc.World("medium", seed=1).sample(units=rows, periods=1, seed=5)
        pq.write_table(logs.to_arrow().drop_columns(["orders"]), path)
    return path


def memory_of(pid: int) -> float:
    """MiB that a process and its children hold, shared pages by their part."""
    total = 0
    for one in [pid, *children_of(pid)]:
        try:
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue  # it has just ended
        total += int(
            next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1]
        )
    return total / 1024


def children_of(pid: int) -> list[int]:
    try:
        own = [
            int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []
    return own + [further for one in own for further in children_of(one)]


def run(folder: Path, store: Path, rows: int, jobs: int) -> dict[str, float]:
    today, out = draw(folder, rows), folder / "recs.parquet"
    shutil.rmtree(store / "decisions", ignore_errors=True)
    words = ["recommend", today, "--store", store, "--out", out, "--jobs", jobs, "--quiet"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    started = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, words)], stdout=subprocess.DEVNULL
    )
    peak = 0.0
    while started.poll() is None:
        peak = max(peak, memory_of(started.pid))
        time.sleep(0.2)
    if started.returncode:
        raise SystemExit(started.returncode)
    seconds, after = (
        time.perf_counter() - begun,
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    logged = sum(path.stat().st_size for path in (store / "decisions").rglob("*.parquet"))
    return {
        "rows": rows,
        "jobs": jobs,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "cpu_milliseconds_per_row": round(1000 * cpu / rows, 4),
        "rows_per_second": round(rows / seconds),
        "peak_mib": round(peak),
        "load_average": round(os.getloadavg()[0], 1),
        "output_bytes_per_row": round(out.stat().st_size / rows, 1),
        "log_bytes_per_row": round(logged / rows, 1),
    }


def stages(folder: Path, store: Path, rows: int = 16_384) -> dict[str, float]:
    """CPU microseconds a row of each stage of one part, in this process."""
    from datetime import UTC, datetime

    import numpy as np

    from realloc.batch.checkpoint import pack
    from realloc.batch.chunks import cut, fingerprint_files
    from realloc.batch.keys import scan_keys
    from realloc.batch.score import finish, read_chunk
    from realloc.decide.columns import complete
    from realloc.decide.types import tabulate
    from realloc.logs.reading.source import open_source
    from realloc.serve.load import ModelRequest, load_model
    from realloc.storage.ledger.rows import Run

    opened = load_model(ModelRequest(store))
    decider, source, found = opened, open_source(draw(folder, rows)), {}

    def timed(name, work):
        begun = time.process_time()
        made = work()
        found[name] = round(1e6 * (time.process_time() - begun) / rows, 1)
        return made

    timed("fingerprint of the input", lambda: fingerprint_files(source))
    keys = timed("keys", lambda: scan_keys(source, decider.schema))
    part = next(cut(source, source.columns.names, [0]))
    today = timed(
        "reading and checking rows", lambda: read_chunk(part, decider.schema, keys.repeated)
    )
    decision = timed("decisions", lambda: decider.decide(today.logs))
    answers = timed(
        "answers as a table",
        lambda: complete(tabulate(today, decision, decider.money_digits), decider.schema),
    )
    run_of = Run("bench", datetime.now(UTC), 1)
    scored = timed(
        "fingerprints, log rows, tally, drift",
        lambda: finish(part, today, answers, decider, run_of),
    )
    timed("writing the part", lambda: pack(scored))
    assert len(np.unique(answers["reason"].to_pylist())) > 1  # noqa: S101
    return found


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rows", type=int, nargs="+", default=[50_000, 500_000])
    asked.add_argument("--jobs", type=int, default=2)
    asked.add_argument("--folder", type=Path, default=Path("/tmp/realloc-batch-scale"))  # noqa: S108
    asked.add_argument("--stages", action="store_true", help="only what each stage costs")
    given = asked.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    store = prepare(given.folder)
    told = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"runs": {}}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    told["cores"] = len(os.sched_getaffinity(0))
    if given.stages:
        told["cpu_microseconds_per_row"] = stages(given.folder, store)
        print(json.dumps(told["cpu_microseconds_per_row"], indent=1))
    else:
        for rows in given.rows:
            told["runs"][f"{rows}x{given.jobs}"] = found = {
                **run(given.folder, store, rows, given.jobs),
                "commit": commit,
            }
            print(json.dumps(found), flush=True)
    told.pop("memory_bytes_per_further_row", None)
    runs = [
        one for one in told["runs"].values() if one["commit"] == commit
    ]  # other code, other memory
    runs = sorted(runs, key=lambda one: one["rows"])
    if len(runs) > 1:
        small, large = runs[0], runs[-1]
        slope = (
            (large["peak_mib"] - small["peak_mib"])
            * 2**20
            / (large["rows"] - small["rows"])
        )
        told["memory_bytes_per_further_row"] = round(slope, 1)
    RESULTS.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
