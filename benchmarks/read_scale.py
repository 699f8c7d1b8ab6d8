"""Check and read a log of 500 K units × 60 days, 20 features, K = 3 (30 million rows) in bounded
memory.

    python benchmarks/read_scale.py [--units 500000] [--days 60] [--folder FOLDER] [--keep]

Writes the log as one Parquet file a day (doubles, as a warehouse would), then runs `realloc check`
and `read_logs` in
processes of their own and prints rows, seconds, rows per second and the peak resident memory of
each.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CHANNELS = ["ads", "coupon", "rebate"]
CATEGORIES = 30
LIMIT_GIB = 6.0

READ = """
import json, sys, time
import realloc
schema, _ = realloc.read_config(sys.argv[2])
start = time.perf_counter()
logs = realloc.read_logs(sys.argv[1], schema)
seconds = time.perf_counter() - start
gib = logs.table.nbytes / 2**30
print(json.dumps({"rows": len(logs), "seconds": seconds, "arrow_gib": gib}))
"""


def write_day(folder: Path, units: int, day: int) -> None:
    rng = np.random.default_rng([2026, day])
    shares = rng.dirichlet([4.0, 3.0, 2.0], units)
    features = {f"f{j}": rng.standard_normal(units) for j in range(19)}
    columns: dict[str, object] = {
        "item_id": pa.array([f"item-{i:07d}" for i in range(units)]),
        "date": pa.array(
            np.full(units, np.datetime64(date(2025, 1, 1) + timedelta(days=day)))
        ),
        **{name: shares[:, k] for k, name in enumerate(CHANNELS)},
        "budget": np.exp(rng.normal(3, 1, units)),
        "orders": 10 + features["f0"] + shares[:, 0] + rng.standard_normal(units),
        **features,
        "category": pa.DictionaryArray.from_arrays(
            rng.integers(0, CATEGORIES, units).astype(np.int32),
            [f"category {c}" for c in range(CATEGORIES)],
        ),
    }
    pq.write_table(
        pa.table(columns), folder / f"day-{day:03d}.parquet", row_group_size=1 << 17
    )


def run(command: list[str]) -> tuple[str, float, float, int]:
    """Standard output, wall seconds, peak resident GiB and exit code of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    return (
        out,
        time.perf_counter() - start,
        usage.ru_maxrss / 2**20,
        os.waitstatus_to_exitcode(status),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=500_000)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/realloc-scale"))  # noqa: S108
    parser.add_argument("--keep", action="store_true", help="leave the log on disk")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results" / "read_scale.json"
    )
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for day in range(args.days):
        if not (args.folder / f"day-{day:03d}.parquet").exists():
            write_day(args.folder, args.units, day)
            print(f"\rwrote day {day + 1} of {args.days}", end="", flush=True)
    size = sum(file.stat().st_size for file in args.folder.glob("*.parquet"))
    rows = args.units * args.days
    print(f"\n{rows:,} rows, {size / 2**30:.1f} GiB on disk")
    realloc = str(Path(sys.executable).with_name("realloc"))
    config = str(args.folder.with_suffix(".toml"))
    report: dict[str, object] = {"rows": rows, "disk_gib": round(size / 2**30, 2)}
    jobs = {
        "init": [realloc, "init", str(args.folder), "--out", config, "--force"],
        "check": [realloc, "check", str(args.folder), "--config", config, "--json"],
        "read_logs": [sys.executable, "-c", READ, str(args.folder), config],
    }
    for name, command in jobs.items():
        out, seconds, gib, code = run(command)
        if code:
            sys.exit(f"{name} ended with {code}: {out[-2000:]}")
        if name == "check":
            report["coverage_rows"] = json.loads(out)["variation"]["rows"]
        report[name] = {
            "seconds": round(seconds, 1),
            "rows_per_second": round(rows / seconds),
            "peak_gib": round(gib, 2),
        }
        print(
            name,
            report[name],
            "within the limit" if gib <= LIMIT_GIB else f"OVER {LIMIT_GIB} GiB",
            flush=True,
        )
    report["machine"] = {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
    }
    report["commit"] = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout[:12]
    args.out.parent.mkdir(exist_ok=True)
    args.out.write_text(json.dumps(report, indent=2) + "\n")
    if not args.keep:
        shutil.rmtree(args.folder)
    print(
        f"own peak (writing) {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} "
        f"GiB; figures in {args.out}"
    )


if __name__ == "__main__":
    main()
