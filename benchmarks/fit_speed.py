"""How much CPU a fit costs, as a multiple of one plain S-learner network in the same run; memory
and time up to a million rows.

    python benchmarks/fit_speed.py  # 20,000 rows against the S-learner, then 20 K, 100 K, 1 M
    python benchmarks/fit_speed.py --sizes 20000 100000

Bar: at most 20 times the CPU time of one plain network (three hidden layers of 128, 40 epochs); 1
million rows in at most
4 GiB and in time that grows no faster than the rows. One thread.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

RESULTS = Path(__file__).parent / "results" / "fit_speed.json"
PERIODS = 10


def fit_seconds(rows: int) -> dict[str, float]:
    """CPU seconds and peak memory of drawing logs and fitting on them, in this process."""
    import realloc

    logs = realloc.World("hard", seed=201).sample(
        units=rows // PERIODS, periods=PERIODS, seed=0
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    steps: dict[str, float] = {}
    started = last = time.process_time()

    def watch(step: str, done: int, total: int) -> None:
        nonlocal last
        now = time.process_time()
        steps[step] = steps.get(step, 0.0) + now - last
        last = now
        if done == total:
            print(f"{step}: {steps[step]:.0f} CPU s", file=sys.stderr, flush=True)

    realloc.ReAlloc(realloc.Config(seed=7)).fit(logs, progress=watch)
    cpu = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "rows": rows,
        "cpu": cpu,
        "peak_gib": peak / 2**20,
        "before_gib": before / 2**20,
        "steps": steps,
    }


def plain_seconds(rows: int) -> float:
    """CPU seconds of one S-learner: one member, 3 × 128 with layer norm, batch 512, 40 epochs,
    a tenth held out.
    """
    import numpy as np
    import torch

    import realloc
    from realloc.learn.features.encode import fit_encoder

    logs = realloc.World("hard", seed=201).sample(
        units=rows // PERIODS, periods=PERIODS, seed=0
    )
    started = time.process_time()
    x = fit_encoder(logs).encode(logs).values
    data = torch.from_numpy(np.concatenate([x, logs.shares], axis=1)).float()
    y = torch.from_numpy(np.array(logs.outcome)).float()
    y = (y - y.mean()) / y.std()
    sizes = (data.shape[1], 128, 128)
    layers = [
        m
        for size in sizes
        for m in (torch.nn.Linear(size, 128), torch.nn.LayerNorm(128), torch.nn.SiLU())
    ]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(128, 1))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2, weight_decay=0.5)
    aside = len(y) // 10
    for _ in range(40):
        order = torch.randperm(len(y) - aside) + aside
        for rows_ in order.split(512):
            loss = (network(data[rows_])[:, 0] - y[rows_]).square().mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            (network(data[:aside])[:, 0] - y[:aside]).square().mean()
    return time.process_time() - started


def measured(what: str, rows: int) -> dict[str, float]:
    """In a process of its own, so that peaks do not mix."""
    found = subprocess.run(
        [sys.executable, __file__, "--only", what, "--sizes", str(rows)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(found.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[20_000, 100_000, 1_000_000]
    )
    parser.add_argument("--only", choices=["plain", "fit"])
    given = parser.parse_args()
    if given.only == "plain":
        print(json.dumps({"cpu": plain_seconds(given.sizes[0])}))
        return
    if given.only == "fit":
        print(json.dumps(fit_seconds(given.sizes[0])))
        return
    plain = [measured("plain", 20_000)["cpu"]]
    fits = []
    for rows in given.sizes:
        fits.append(measured("fit", rows))
        print(
            f"{rows:>9,} rows: {fits[-1]['cpu']:.0f} CPU s, peak {fits[-1]['peak_gib']:.2f} GiB",
            flush=True,
        )
        if rows == 20_000:
            plain.append(measured("plain", 20_000)["cpu"])
    ratio = fits[0]["cpu"] / (sum(plain) / len(plain))
    print(
        f"fit of {given.sizes[0]:,} rows: {ratio:.1f} × one plain S-learner ({plain} CPU s)"
    )
    for one, other in pairwise(fits):
        growth = other["cpu"] / one["cpu"]
        print(
            f"{one['rows']:,} → {other['rows']:,} rows: time × {growth:.1f}, rows × "
            f"{other['rows'] / one['rows']:.0f}"
        )
    RESULTS.write_text(
        json.dumps({"plain_cpu": plain, "ratio": ratio, "fits": fits}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
