"""The main job on built-in data: simulate → check → fit → recommend → compare with the truth, and
the report as a page.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from realloc.base.numbers import signed
from realloc.baselines import ConstantField
from realloc.batch import Options, recommend_file
from realloc.cli.check import show_check
from realloc.logs import Logs, read_logs
from realloc.logs.guess import guess_schema
from realloc.model.config import Config
from realloc.model.publish_limits import PublishLimits
from realloc.model.realloc import ReAlloc
from realloc.report.store import write_report
from realloc.storage.store import Store
from realloc.world import World

# Today's items are new ones, which lie apart from the few of a small training log.
CONFIG = Config(seed=1, publish=PublishLimits(max_drift=9.0))


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
    model = ReAlloc(CONFIG).fit(logs)
    store = Store(out / "store")
    store.commit(model, logs, again=not store.empty)
    recommendations = out / "recommendations.parquet"
    recommend_file(
        [str(out / "today.parquet")], store.path, recommendations, Options(config=CONFIG)
    )
    answers = pq.read_table(recommendations)
    simple = ConstantField().fit(logs).recommend(out / "today.parquet")
    show_check(logs.check(), console, guessed=True)
    _show_answers(answers, logs.schema.channels, console)
    console.print("\n[bold]Why, for the first item[/]")
    for line in model.explain(today, answers["item_id"][0].as_py()).lines():
        console.print(f"  {line}")
    console.print("\n[bold]True gains[/] in orders per item (unknown on real data)")
    _show_truth("ReAlloc", world, today, answers, console)
    _show_truth("one constant field", world, today, simple, console)
    write_report(store.path, out / "report.html")
    console.print(f"\n[bold]The report[/] {out / 'report.html'}: open it in a browser.")
    console.print("Next:")
    for line in _next_commands(out):
        console.print(f"  {line}")


def _next_commands(out: Path) -> tuple[str, ...]:
    """Three commands that work with what the demo has written."""
    return (
        f"realloc status --store {out}/store",
        f"realloc evaluate {out}/logs.parquet --store {out}/store",
        f"realloc init {out}/logs.parquet --out {out}/realloc.toml   # or with a log of your own",
    )


def _show_answers(answers: pa.Table, channels: tuple[str, ...], console: Console) -> None:
    console.print(
        "[bold]Recommendations[/] (first five of them, then how many of each kind)"
    )
    for row in answers.slice(0, 5).to_pylist():
        split = ", ".join(f"{name} {row[f'share_{name}']:.1%}" for name in channels)
        gain = f"gain {signed(row['gain'])}, 95 % lower bound {signed(row['gain_lower'])}"
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
