"""Does a round grow with the number of past rounds? 32 windows of the rotating world: CPU, memory
and saved size of each.

    python benchmarks/rounds_scale.py

A small config (one nuisance model, two members, 4,000 rows each in the replay and in the support's
memory), so that 32 rounds
take minutes; rounds are compared once both memories are full. One thread.
"""

import json
import os
import resource
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import realloc
from realloc.learn.memory.config import MemoryConfig
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.student.config import StudentConfig
from realloc.learn.support.config import SupportConfig
from realloc.learn.teacher.config import (
    FactualConfig,
    KernelConfig,
    NetworkConfig,
    TeacherConfig,
)

RESULTS = Path(__file__).parent / "results" / "rounds_scale.json"
WINDOWS, CAPACITY = 32, 4000
CONFIG = realloc.Config(
    seed=7,
    nuisances=NuisanceConfig(folds=3, models=("ridge",)),
    teacher=TeacherConfig(members=2),
    kernel=KernelConfig(inducing=200, steps=30, rows=300),
    network=NetworkConfig(epochs=5, least_steps=0),
    factual=FactualConfig(epochs=5, width=64, least_steps=0),
    memory=MemoryConfig(capacity=CAPACITY),
    student=StudentConfig(epochs=3, width=64, least_steps=0),
    support=SupportConfig(rows=CAPACITY),
)


def main() -> None:
    world = realloc.World("hard", seed=201)
    model, rows = realloc.ReAlloc(CONFIG, quiet=True), []
    with tempfile.TemporaryDirectory() as folder:
        for window in range(WINDOWS):
            logs = world.sample(units=200, periods=5, seed=window, window=window)
            started = time.process_time()
            model = model.update(logs) if window else model.fit(logs)
            cpu = time.process_time() - started
            model.save(Path(folder) / "model")
            size = sum(file.stat().st_size for file in (Path(folder) / "model").iterdir())
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            rows.append(
                {
                    "cpu": cpu,
                    "saved_bytes": size,
                    "peak_mib": peak,
                    "replay_rows": len(model.fitted.main.memory),
                }
            )
            print(
                f"round {window + 1:2}: {cpu:5.1f} CPU s, {size / 2**20:.2f} MiB saved, peak "
                f"{peak:.0f} MiB",
                flush=True,
            )
    full = [row for row in rows if row["replay_rows"] == CAPACITY]
    half = len(full) // 2
    early, late = (
        np.median([row["cpu"] for row in part]) for part in (full[:half], full[half:])
    )
    summary = {
        "cpu_late_over_early": float(late / early),
        "saved_bytes_spread": max(r["saved_bytes"] for r in full)
        - min(r["saved_bytes"] for r in full),
        "peak_growth_mib": full[-1]["peak_mib"] - full[0]["peak_mib"],
    }
    print(json.dumps(summary))
    RESULTS.write_text(json.dumps({"summary": summary, "rounds": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
