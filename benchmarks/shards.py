"""One run, and eight shards with a commit, on the same rows: CPU, memory, one digest.

    python benchmarks/shards.py [--rows 1000000] [--shards 8]

The model and the rows are those of batch_scale.py (medium world, seeds 1, 0 and 5; config seed 7).
Each engine runs as commands, one process at a time; CPU seconds are those of its processes, their
start included. The digest is of the output's rows in their order: the same for all engines. The
bar: shards and commit take at most 15 % more CPU than one run.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pyarrow as pa
import pyarrow.parquet as pq

from batch_scale import COMMAND, draw, prepare

RESULTS = Path(__file__).parent / "results" / "shards.json"


def command(*words: object) -> dict[str, float]:
    """Run `realloc recommend`: CPU seconds and peak memory of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", COMMAND, "recommend", *map(str, words), "--quiet"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "peak": after.ru_maxrss / 1024}


def digest(tables: list[pa.Table]) -> str:
    """SHA-256 of the values of all rows, whatever the files."""
    found = hashlib.sha256()
    for batch in pa.concat_tables(tables).to_batches(max_chunksize=16_384):
        found.update(batch.to_pandas().to_csv(index=False, header=False).encode())
    return found.hexdigest()


def outputs(out: Path) -> list[pa.Table]:
    if out.is_file():
        return [pq.read_table(out)]
    manifest = json.loads((out / "_MANIFEST.json").read_bytes())
    return [pq.read_table(out / file["name"]) for file in manifest["files"]]


def run(
    engine: str, folder: Path, store: Path, rows: int, shards: int
) -> dict[str, object]:
    today = draw(folder, rows)
    out = folder / (
        f"{engine}.parquet" if engine in ("local", "ray") else f"{engine}-parts"
    )
    shutil.rmtree(out, ignore_errors=True)
    (folder / "local.parquet").unlink(missing_ok=True)
    shutil.rmtree(store / "decisions", ignore_errors=True)
    words = [today, "--store", store, "--out", out, "--jobs", 1]
    if engine == "shard":
        told = [command(*words, "--shard", f"{n}/{shards}") for n in range(shards)]
        told.append(command(*words, "--commit"))
    else:
        told = [command(*words)]
    cpu = sum(one["cpu"] for one in told)
    return {
        "processes": len(told),
        "cpu_seconds": round(cpu, 1),
        "rows_per_cpu_second": round(rows / cpu),
        "peak_mib": round(max(one["peak"] for one in told)),
        "rows": sum(table.num_rows for table in outputs(out)),
        "sha256": digest(outputs(out)),
    }


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rows", type=int, default=1_000_000)
    asked.add_argument("--shards", type=int, default=8)
    asked.add_argument("--engines", nargs="+", default=["local", "shard"])
    asked.add_argument("--folder", type=Path, default=Path("/tmp/realloc-batch-scale"))  # noqa: S108
    given = asked.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    store = prepare(given.folder)
    told = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    of_rows = told.setdefault(str(given.rows), {})
    for engine in given.engines:
        of_rows[engine] = run(engine, given.folder, store, given.rows, given.shards)
        of_rows[engine]["commit"] = commit
        print(engine, of_rows[engine], flush=True)
    if {"local", "shard"} <= of_rows.keys():
        ratio = of_rows["shard"]["cpu_seconds"] / of_rows["local"]["cpu_seconds"]
        of_rows["cpu_of_shards_over_local"] = round(ratio, 3)
    RESULTS.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
