"""Matched replay at scale: 100 K and 1 M moved events of the marketplace, each in a process of its
own.

    python benchmarks/replay_scale.py [--events 100000 1000000]

Routine items of 24 days, the last 12 replayed with every setting of the ladder. Prints counts, CPU
seconds of each stage,
events per CPU second and peak memory, each with its ratio to the smallest size; writes
results/replay_scale.json.
CPU and not wall seconds, because other work may share the machine.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from realloc.evaluate import balance
from realloc.evaluate import replay as matched
from realloc.evaluate.events import Floats
from realloc.logs import Logs
from realloc.world.platform import Marketplace

DAYS, START = 24, "2026-01-17"
EVENTS_PER_ITEM = 2.48  # in the window, 10 % of the items being under exploration
CONFIG = matched.MatchedReplayConfig(categories=("category",), features=("log_price",))
STAGES = {
    "learn demand": (matched, "fit_demand"),
    "predict demand": (matched, "predict_demand"),
    "search neighbours": (balance, "match_events"),
    "balance of all settings": (balance, "balance_table"),
    "match placebos": (matched, "match_placebos"),
}


def timed(
    work: Callable[..., Any], name: str, seconds: dict[str, float]
) -> Callable[..., Any]:
    """The same function, its CPU seconds added up."""

    def run(*arguments: Any, **named: Any) -> Any:
        start = time.process_time()
        found = work(*arguments, **named)
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - start
        return found

    return run


def measure(wanted: int) -> dict[str, Any]:
    """One size."""
    market, seconds = Marketplace(seed=1), dict[str, float]()
    logs = market.sample(items=round(wanted / EVENTS_PER_ITEM), days=DAYS)
    logs = logs.take(~logs.table["exploration"].to_numpy())

    def oracle(asked: Logs, to: Floats) -> Floats:
        return market.gain(market.state(asked), asked.shares, to)["orders"]

    for name, (module, function) in STAGES.items():
        setattr(module, function, timed(getattr(module, function), name, seconds))
    window = timed(matched.match_window, "match_window, all of it", seconds)(
        logs, START, CONFIG
    )
    found = timed(matched.rank_window, "rank_window, 500 draws", seconds)(
        window, oracle, CONFIG
    )
    events = int(
        (
            window.events.is_event
            & (logs.times >= window.logs.times[window.matches.events].min())
        ).sum()
    )
    whole = seconds["match_window, all of it"] + seconds["rank_window, 500 draws"]
    return {
        "rows": len(logs),
        "events": events,
        "matched": len(window.matches),
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "events_per_second_search": round(events / seconds["search neighbours"]),
        "events_per_second_whole": round(events / whole),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "largest_smd": round(window.selection.balance.largest, 4),
        "rho_gain": round(found["rho_gain"].value, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument(
        "--one", type=int, help="measure this size here and print it as JSON"
    )
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results" / "replay_scale.json"
    )
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one)))
        return
    sizes: list[dict[str, Any]] = []
    for events in sorted(chosen.events):
        command = [sys.executable, __file__, "--one", str(events)]
        sizes.append(
            json.loads(
                subprocess.run(
                    command, stdout=subprocess.PIPE, text=True, check=True
                ).stdout
            )
        )
        show(sizes[0], sizes[-1])
        machine = {"cpus": os.cpu_count(), "python": platform.python_version()}
        chosen.out.parent.mkdir(exist_ok=True)
        chosen.out.write_text(
            json.dumps({"sizes": sizes, "machine": machine}, indent=2) + "\n"
        )


def show(smallest: dict[str, Any], size: dict[str, Any]) -> None:
    """Counts, and how often the smallest size goes into them."""
    flat, first = ({**part, **part["seconds"]} for part in (size, smallest))
    for name, value in flat.items():
        if not isinstance(value, dict):
            ratio = (
                f"  × {value / first[name]:.2f}"
                if size is not smallest and first[name]
                else ""
            )
            print(f"{name:28s} {value:>12,}{ratio}", flush=True)
    print()


if __name__ == "__main__":
    main()
