"""The main job on built-in data: simulate → check → fit → recommend → compare with the truth."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from realloc.baselines import ConstantField
from realloc.cli.check import show_check
from realloc.logs import Logs, read_logs
from realloc.logs.guess import guess_schema
from realloc.model.config import Config
from realloc.model.realloc import ReAlloc
from realloc.world import World


def run_demo(out: Path, units: int, console: Console) -> None:
    """Run every step through the same doors that a user takes: files in, files out."""
    out.mkdir(parents=True, exist_ok=True)
    world = World(regime="medium", seed=1)
    console.print(
        f"[bold]1. Simulate {units:,} items over 10 days, and 500 items to decide on[/]"
    )
    pq.write_table(
        world.sample(units=units, periods=10, seed=0).to_arrow(), out / "logs.parquet"
    )
    today = world.sample(units=500, periods=1, seed=1, first_day="2025-01-11")
    pq.write_table(today.to_arrow().drop_columns(["orders"]), out / "today.parquet")
    console.print("[bold]2. Check the log[/]")
    logs = read_logs(out / "logs.parquet", guess_schema(out / "logs.parquet"))
    console.print(
        "[bold]3. Fit (teacher, student, support; about a minute) and recommend[/]"
    )
    model = ReAlloc(Config(seed=1)).fit(logs)
    model.save(out / "model")
    answers: pa.Table = model.recommend(out / "today.parquet")
    pq.write_table(answers, out / "recommendations.parquet")
    simple = ConstantField().fit(logs).recommend(out / "today.parquet")
    show_check(logs.check(), console, guessed=True)
    _show_answers(answers, logs.schema.channels, console)
    console.print("\n[bold]Why, for the first item[/]")
    for line in model.explain(today, answers["item_id"][0].as_py()).lines():
        console.print(f"  {line}")
    console.print("\n[bold]True gains[/] in orders per item (unknown on real data)")
    _show_truth("ReAlloc", world, today, answers, console)
    _show_truth("one constant field", world, today, simple, console)
    console.print(
        f"Everything is in {out}/: logs.parquet, today.parquet, model/, recommendations.parquet"
    )


def _show_answers(answers: pa.Table, channels: tuple[str, ...], console: Console) -> None:
    console.print(
        "[bold]Recommendations[/] (first five of them, then how many of each kind)"
    )
    for row in answers.slice(0, 5).to_pylist():
        split = ", ".join(f"{name} {row[f'share_{name}']:.1%}" for name in channels)
        gain = f"gain {row['gain']:+.3f} (lower bound {row['gain_lower']:+.3f})"
        console.print(f"  {row['item_id']}: {split}  {row['reason']}, {gain}")
    console.print()
    for reason, count in Counter(answers["reason"].to_pylist()).most_common():
        console.print(f"  {reason:12}{count:6,}")


def _show_truth(
    title: str, world: World, today: Logs, answers: pa.Table, console: Console
) -> None:
    """Compare promises with the world's truth."""
    columns = [answers[name].to_numpy() for name in today.schema.share_columns]
    shares = np.stack(columns, axis=1)
    true = world.response(today, shares) - world.response(today, today.shares)
    moved = answers["moved"].to_numpy()
    kept = true >= answers["gain_lower"].to_numpy()
    harmed = (true[moved] < 0).mean() if moved.any() else 0.0
    certified = kept[moved].mean() if moved.any() else 1.0
    console.print(
        f"  {title:24} predicted {np.mean(answers['gain'].to_numpy()):+.3f}, "
        f"true {true.mean():+.3f}; {harmed:.0%} of the moved items lose, "
        f"{certified:.0%} gain at least their lower bound"
    )
