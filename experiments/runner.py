"""Cells of an experiment over cores: finished ones are kept, failed ones are named and tried again
next time.

A study is a name, keys such as "s_nn/hard/3" and a function of a key. Results are
experiments/results/<name>.json: a card (commit, versions, machine, seeds, CPU hours) and one entry
per key with its own commit and CPU seconds.
"""

import argparse
import json
import os
import platform
import subprocess
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("torch", "numpy", "scipy", "lightgbm", "econml", "scikit-learn", "d3rlpy")
Figures = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """What is measured: every key once."""

    name: str
    work: Callable[[str], Figures]
    keys: tuple[str, ...]
    folder: Path = RESULTS

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.json"

    def done(self) -> dict[str, Figures]:
        return json.loads(self.path.read_text())["cells"] if self.path.exists() else {}


def run(study: Study, jobs: int) -> dict[str, Figures]:
    """Fill the file, a cell at a time, in the order of the keys; all that is known at the end."""
    cells, began = study.done(), time.monotonic()
    # Workers inherit it: each one is a core's worth of work.
    os.environ["OMP_NUM_THREADS"] = "1"
    todo = [key for key in study.keys if key not in cells]
    failed: list[str] = []
    # Without max_tasks_per_child, whose workers are not replaced where all tasks are submitted at
    # once (CPython issue 115634).
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(measure, study.work, key): key for key in todo}
        for count, future in enumerate(as_completed(futures), start=1):
            key = futures[future]
            try:
                cells[key] = future.result()
            except Exception:  # a cell must not take the others with it
                failed.append(key)
                print(f"{key} failed:\n{traceback.format_exc()}", flush=True)
                continue
            save(study, cells)
            left = (time.monotonic() - began) / count * (len(todo) - count) / 60
            print(
                f"{count}/{len(todo)} {key} {cells[key]['seconds']:.0f} CPU s, about {left:.0f} "
                "min left",
                flush=True,
            )
    if failed:
        print(
            f"{len(failed)} of {len(todo)} cells failed: {', '.join(failed)}. Run again to try "
            "them once more."
        )
    return cells


def measure(work: Callable[[str], Figures], key: str) -> Figures:
    began = time.process_time()
    found = work(key)
    return {**found, "seconds": round(time.process_time() - began, 1), "code": commit()}


def save(study: Study, cells: dict[str, Figures]) -> None:
    """Never a torn file: written beside and renamed."""
    study.folder.mkdir(parents=True, exist_ok=True)
    aside = study.path.with_suffix(".part")
    aside.write_text(
        json.dumps(
            {"card": card(study, cells), "cells": dict(sorted(cells.items()))}, indent=1
        )
        + "\n"
    )
    aside.replace(study.path)


def card(study: Study, cells: dict[str, Figures]) -> Figures:
    """Of the run that wrote last, with packages that only earlier ones had, and of all cells."""
    former = (
        json.loads(study.path.read_text())["card"]["packages"]
        if study.path.exists()
        else {}
    )
    ends = {key.rsplit("/", 1)[-1] for key in cells}
    return {
        "commit": commit(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "packages": former
        | {name: found for name in PACKAGES if (found := installed(name))},
        "seeds": sorted(int(end) for end in ends if end.isdigit()),
        "cpu_hours": hours_of(cells),
    }


def hours_of(cells: dict[str, Figures]) -> float:
    """All CPU time, in hours."""
    return round(sum(cell["seconds"] for cell in cells.values()) / 3600, 2)


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def commit() -> str:
    """The code that is running; results that were written meanwhile do not make it another one."""

    def git(*arguments: str) -> str:
        command, where = ["git", *arguments], RESULTS.parent.parent
        return subprocess.run(  # noqa: S603
            command, cwd=where, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = git(
        "status", "--porcelain", "--", "src", "experiments/*.py", "benchmarks/*.py"
    )
    return git("rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


def conclude(
    study: Study,
    given: argparse.Namespace,
    to_markdown: Callable[[dict[str, Figures]], str],
) -> None:
    """Measure what is missing, write the table beside the cells and print it."""
    text = to_markdown(study.done() if given.table else run(study, given.jobs))
    study.path.with_suffix(".md").write_text(text)
    print(text)


def describe(cells: dict[str, Figures]) -> str:
    """One sentence about the code and the cost of cells."""
    codes = sorted({str(cell["code"]) for cell in cells.values()})
    return (
        f"{len(cells)} cells, {hours_of(cells):.1f} CPU hours; code of {', '.join(codes)}."
    )


def interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    """95 % bootstrap interval of the mean over seeds."""
    draws = (
        np.random.default_rng(0)
        .choice(differences, size=(4000, len(differences)))
        .mean(axis=1)
    )
    return float(np.quantile(draws, 0.025)), float(np.quantile(draws, 0.975))


def markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def arguments(description: str | None) -> argparse.ArgumentParser:
    """What every experiment understands."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--seeds", type=int, nargs="+", help="world seeds; 1 to 10 unless given"
    )
    parser.add_argument(
        "--quick", action="store_true", help="two seeds of a small world: minutes"
    )
    parser.add_argument(
        "--table", action="store_true", help="only write the table from the cells there are"
    )
    return parser
