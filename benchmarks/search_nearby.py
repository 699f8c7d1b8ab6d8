"""What the search gains by comparing places on polynomials of the student, and what it loses.

    python benchmarks/search_nearby.py [--rows 16384]

The same rows are decided three times in one process: by the compiled search, by numpy with
polynomials, and with the network
itself; the model is that of `batch_scale.py`. Ratios of CPU time; rows in which the compiled search
differs from numpy's in
any bit; reasons and ends that polynomials and network share; the objective Ĝ − β σ̂ of what was
found.
"""

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from batch_scale import draw, prepare
from realloc.batch.chunks import cut
from realloc.batch.score import read_chunk
from realloc.decide.search import compiled
from realloc.learn.student import potential
from realloc.logs.reading.source import open_source
from realloc.serve.load import ModelRequest, load_model

RESULTS = Path(__file__).parent / "results" / "search_nearby.json"
FOLDER = Path("/tmp/realloc-batch-scale")  # noqa: S108
ROUNDS = 3


def timed(decide, logs):
    begun = time.process_time()
    found = decide(logs)
    return found, time.process_time() - begun


def nothing(*_):
    """Neither polynomials nor a library."""


def differing(fast, slow) -> int:
    """Rows with another reason, or with shares or figures that differ by more than 1e-9."""
    differs = fast.reason != slow.reason
    for name in ("shares", "gain", "gain_lower", "support"):
        off = np.abs(getattr(fast, name) - getattr(slow, name)).reshape(len(differs), -1)
        differs = differs | (off.max(axis=1) > 1e-9)
    return int(differs.sum())


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rows", type=int, default=16_384)
    rows = asked.parse_args().rows
    FOLDER.mkdir(parents=True, exist_ok=True)
    store = prepare(FOLDER)
    opened = load_model(ModelRequest(store))
    source = open_source(draw(FOLDER, rows))
    part = next(cut(source, source.columns.names, [0]))
    logs = read_chunk(part, opened.schema, np.empty(0, np.int64)).logs
    near, library = potential.near, compiled.search_library
    ways = {
        "compiled": (near, library),
        "polynomials": (near, nothing),
        "network": (nothing, nothing),
    }
    found, seconds = {}, {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, (potential.near, compiled.search_library) in ways.items():
            found[name], spent = timed(opened.decide, logs)
            seconds[name].append(spent)
    beta = opened.model.config.decision.beta
    rough, exact = found["polynomials"], found["network"]
    ours, theirs = (one.gain - beta * one.further["gain_error"] for one in (rough, exact))
    least = {name: min(spent) for name, spent in seconds.items()}
    told = {
        "rows": rows,
        "cpu_ratio_network_to_polynomials": round(
            least["network"] / least["polynomials"], 2
        ),
        "cpu_ratio_polynomials_to_compiled": round(
            least["polynomials"] / least["compiled"], 2
        ),
        "cpu_microseconds_per_row": {
            name: round(1e6 * spent / rows) for name, spent in least.items()
        },
        "rows_that_differ_compiled": differing(found["compiled"], rough),
        "same_reason": round(float((rough.reason == exact.reason).mean()), 5),
        "same_end": round(
            float((np.abs(rough.shares - exact.shares).max(axis=1) < 1e-9).mean()), 5
        ),
        "objective_ratio": round(float(ours.sum() / theirs.sum()), 7),
        "largest_loss_of_a_row": round(float((theirs - ours).max()), 5),
        "mean_objective": round(float(theirs.mean()), 4),
        "commit": subprocess.check_output(
            ["git", "rev-parse", "--short", "HEAD"], text=True
        ).strip(),
    }
    RESULTS.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
