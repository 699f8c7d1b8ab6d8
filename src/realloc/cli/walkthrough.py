"""The main job on built-in data: simulate → check → fit → recommend → compare with the truth."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from realloc.baselines import ConstantField
from realloc.logs import Check, Logs, read_logs
from realloc.logs.guess import guess_schema
from realloc.model.config import Config
from realloc.model.realloc import ReAlloc
from realloc.world import World


@dataclass(frozen=True)
class GainSummary:
    """What recommendations promise, and what they bring."""

    predicted: float  # gain per item
    true: float
    harmed: float  # part of the moved items that lose
    certified: float  # part of the moved items that gain at least their lower value


@dataclass(frozen=True)
class DemoResult:
    """What the demo found."""

    check: Check
    first_rows: tuple[str, ...]
    reasons: dict[str, int]
    ours: GainSummary
    simple: GainSummary  # one field for everybody
    why: tuple[str, ...]  # of the first item
    files: tuple[str, ...]


def run_demo(out: Path, units: int, say: Callable[[str], None]) -> DemoResult:
    """Run every step through the same doors that a user takes: files in, files out."""
    out.mkdir(parents=True, exist_ok=True)
    world = World(regime="medium", seed=1)
    say(f"1. Simulate {units:,} items over 10 days, and 500 items to decide on")
    pq.write_table(
        world.sample(units=units, periods=10, seed=0).to_arrow(), out / "logs.parquet"
    )
    today = world.sample(units=500, periods=1, seed=1, first_day="2025-01-11")
    pq.write_table(today.to_arrow().drop_columns(["orders"]), out / "today.parquet")
    say("2. Check the log")
    logs = read_logs(out / "logs.parquet", guess_schema(out / "logs.parquet"))
    say("3. Fit (teacher, student, support; about a minute) and recommend")
    model = ReAlloc(Config(seed=1)).fit(logs)
    model.save(out / "model")
    answers: pa.Table = model.recommend(out / "today.parquet")
    pq.write_table(answers, out / "recommendations.parquet")
    simple = ConstantField().fit(logs).recommend(out / "today.parquet")
    first = answers.slice(0, 5).to_pylist()
    return DemoResult(
        check=logs.check(),
        first_rows=tuple(_describe(row, logs.schema.channels) for row in first),
        reasons=dict(Counter(answers["reason"].to_pylist()).most_common()),
        ours=judge(world, today, answers),
        simple=judge(world, today, simple),
        why=tuple(model.explain(today, answers["item_id"][0].as_py()).lines()),
        files=("logs.parquet", "today.parquet", "model/", "recommendations.parquet"),
    )


def judge(world: World, today: Logs, answers: pa.Table) -> GainSummary:
    """Compare promises with the world's truth."""
    columns = [answers[f"share_{name}"].to_numpy() for name in today.schema.channels]
    shares = np.stack(columns, axis=1)
    true = world.response(today, shares) - world.response(today, today.shares)
    moved = answers["moved"].to_numpy()
    lower = answers["gain_lower"].to_numpy()
    if not moved.any():
        return GainSummary(0.0, 0.0, 0.0, 1.0)
    return GainSummary(
        predicted=float(np.mean(answers["gain"].to_numpy())),
        true=float(true.mean()),
        harmed=float((true[moved] < 0).mean()),
        certified=float((true >= lower)[moved].mean()),
    )


def _describe(row: dict[str, object], channels: tuple[str, ...]) -> str:
    split = ", ".join(f"{name} {row[f'share_{name}']:.1%}" for name in channels)
    gain = f"gain {row['gain']:+.3f} (lower value {row['gain_lower']:+.3f})"
    return f"{row['item_id']}: {split}  {row['reason']}, {gain}"
