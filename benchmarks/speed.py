"""CPU of decisions: one row and many, 2 to 12 channels, zeros, guardrails, rules; 100 models.

    python benchmarks/speed.py [--models 100] [--again]

Every case is measured beside the bare forward pass of the same student on the same rows, in one
process: read the ratios. Models have students of the default size, fitted with few steps on 1,500
rows; those of the spread on 300 to 900 rows, each in a world and with steps of its own. A case
that the results hold already is not measured again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # the config of the tests

import numpy as np
from tests.small import CONFIG

from realloc import ReAlloc, World, read_logs
from realloc.base.numerics.blas import one_blas_thread
from realloc.learn.student.config import StudentConfig
from realloc.learn.student.potential import Potential
from realloc.learn.teacher.config import KernelConfig
from realloc.world.regimes import REGIMES

RESULTS = Path(__file__).parent / "results" / "speed.json"
CHANNELS = (2, 3, 4, 5, 6, 9, 12)
ROWS = {"one": 1, "hundred": 100, "ten_thousand": 10_000}
REPEATS = {"one": 60, "hundred": 10, "ten_thousand": 2}
CASES = {
    **{f"K{channels}": {"channels": channels} for channels in CHANNELS},
    "zeros": {"zeros": True},
    "guardrail": {"guardrail": True},
    "zeros_and_guardrail": {"zeros": True, "guardrail": True},
    "floors_and_caps": {
        "constraints": {
            "floors": {"ads": 0.1},
            "caps": {"rebate": 0.6},
            "largest_move": 0.1,
        }
    },
    "grid": {"constraints": {"grid": 0.05}},
    "far": {"decision": {"max_length": 0.4}},
    "lambda_support": {"decision": {"lambda_support": 0.05}},
}


def make_rows(case: dict, units: int, periods: int, seed: int):
    """A log of the medium world; zeros rest the smallest channel of every third row."""
    world = World("medium", seed=1, channels=case.get("channels", 3))
    logs = world.sample(units=units, periods=periods, seed=seed)
    frame = logs.to_pandas()
    channels = list(logs.schema.channels)
    if case.get("zeros"):
        shares = frame[channels].to_numpy(copy=True)
        rest = np.arange(0, len(frame), 3)
        shares[rest, shares[rest].argmin(axis=1)] = 0.0
        frame[channels] = shares / shares.sum(axis=1, keepdims=True)
    schema = replace(logs.schema, features=None)
    if case.get("guardrail"):
        noise = np.random.default_rng(seed).normal(size=len(frame))
        frame["sales"] = 2 * frame[schema.outcome] + noise
        schema = replace(schema, guardrails=("sales",))
    return frame, schema


def fit(case: dict) -> ReAlloc:
    frame, schema = make_rows(case, 300, 5, 0)
    config = replace(
        CONFIG,
        student=StudentConfig(epochs=1, least_steps=200),
        kernel=KernelConfig(inducing=500, steps=20, rows=500),
        support=replace(CONFIG.support, rows=1500),
        decision=replace(CONFIG.decision, **case.get("decision", {})),
    )
    return ReAlloc(config, quiet=True).fit(read_logs(frame, schema))


def least(act: Callable[[], object], repeats: int) -> float:
    """The least CPU seconds of one call: other work on the machine only ever adds."""
    seconds: list[float] = []
    for _ in range(repeats):
        begun = time.thread_time()
        act()
        seconds.append(time.thread_time() - begun)
    return min(seconds)


def measure(case: dict) -> dict:
    """Microseconds a row of decisions and of the bare forward pass, and their ratio."""
    model = fit(case)
    student = cast("Potential", model.fitted.main.student)
    drawn, _ = make_rows(case, 10_000, 1, 7)
    frame = drawn.drop(columns=["orders", "sales"], errors="ignore")
    constraints = case.get("constraints")
    found: dict = {}
    for name, rows in ROWS.items():
        part = frame.head(rows)
        given = part.assign(date=part.date.astype(str)).to_dict(orient="records")
        given = given[0] if rows == 1 else given if rows == 100 else part
        x = model.fitted.encode(read_logs_of(model, part))
        repeats = REPEATS[name]
        with one_blas_thread:
            bare = least(lambda x=x: student.context(x), repeats)
        whole = least(lambda given=given: model.recommend(given, constraints), repeats)
        found[name] = {
            "microseconds_a_row": round(1e6 * whole / rows, 1),
            "bare_forward": round(1e6 * bare / rows, 1),
            "ratio": round(whole / bare, 2),
        }
    decided = model.decide(read_logs_of(model, frame.head(200)))
    return found | {"searches": sorted(decided.searches)}


def read_logs_of(model: ReAlloc, frame):
    from realloc.model.request import read_today

    return read_today(frame, model.known_schema)[0]


def one_of_many(number: int) -> dict:
    """A small model of its own world: microseconds a row of 1,000 decisions, and what searched."""
    draw = np.random.default_rng(number)
    regime = list(REGIMES)[number % len(REGIMES)]
    world = World(regime, seed=number, channels=3)
    logs = world.sample(units=int(draw.integers(60, 180)), periods=5, seed=0)
    steps = int(draw.integers(30, 200))
    student = StudentConfig(epochs=1, least_steps=steps)
    model = ReAlloc(replace(CONFIG, seed=number, student=student), quiet=True).fit(logs)
    today = world.sample(units=1000, periods=1, seed=7)
    seconds = least(lambda: model.decide(today), 3)
    searches = sorted(model.decide(today).searches)
    return {"microseconds_a_row": round(1e6 * seconds / 1000, 1), "searches": searches}


def summarise(results: dict) -> dict:
    """What the bars ask: growth with K, ratios to K = 3, the spread over models."""
    cases = results["cases"]
    many = {
        name: case["ten_thousand"]["microseconds_a_row"] for name, case in cases.items()
    }
    summary: dict = {}
    if all(f"K{channels}" in many for channels in CHANNELS):
        ks = [channels for channels in CHANNELS if channels >= 3]
        slope = np.polyfit(np.log(ks), np.log([many[f"K{k}"] for k in ks]), 1)[0]
        summary["growth_exponent_of_channels"] = round(float(slope), 2)
        summary["times_three_channels"] = {
            name: round(value / many["K3"], 2) for name, value in many.items()
        }
    spread = [model["microseconds_a_row"] for model in results["models"].values()]
    if spread:
        p50, p99 = np.quantile(spread, [0.5, 0.99])
        numpy = [m for m in results["models"].values() if m["searches"] != ["compiled"]]
        summary["models"] = {
            "count": len(spread),
            "median_microseconds": round(float(p50), 1),
            "p99_to_median": round(float(p99 / p50), 2),
            "not_compiled": len(numpy),
        }
    return summary


def table(results: dict) -> list[str]:
    """The lines of the table in docs/results.md."""
    times = results["summary"]["times_three_channels"]
    lines = [
        "| case | one row | 100 rows | 10,000 rows | × three channels |",
        "|---|---|---|---|---|",
    ]
    for name, case in results["cases"].items():
        cells = [f"{case[size]['microseconds_a_row']:,.0f}" for size in ROWS]
        lines.append(
            f"| {name.replace('_', ' ')} | {' | '.join(cells)} | {times[name]:.1f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--again", action="store_true", help="forget the results")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    results: dict = {"cases": {}, "models": {}}
    if options.out.exists() and not options.again:
        results = json.loads(options.out.read_text())
    commit = ["git", "rev-parse", "--short", "HEAD"]
    results["commit"] = subprocess.check_output(commit, text=True).strip()

    def save() -> None:
        results["summary"] = summarise(results)
        options.out.write_text(json.dumps(results, indent=1) + "\n")

    for number in range(options.models):
        if str(number) not in results["models"]:
            results["models"][str(number)] = one_of_many(number)
            save()
    for name, case in CASES.items():
        if name not in results["cases"]:
            results["cases"][name] = measure(case)
            save()
            print(name, results["cases"][name], flush=True)
    print(json.dumps(results["summary"], indent=1), *table(results), sep="\n")


if __name__ == "__main__":
    main()
