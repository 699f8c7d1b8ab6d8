"""The daily job as an Airflow DAG. Every task may be retried: each does nothing a second time."""

import os
import subprocess
from datetime import datetime
from pathlib import Path

from airflow.sdk import dag, task

STORE = os.environ.get("REALLOC_STORE", "/srv/budget/store")
DATA = Path(os.environ.get("REALLOC_FILES", "/srv/budget"))


def realloc(*words: object) -> None:
    """Run a command; anything but exit code 0 fails the task, with the sentence in its log."""
    subprocess.run(["realloc", *map(str, words), "--quiet"], check=True)


@task(retries=2)
def update(ds: str) -> None:
    """Learn from the window that has ended."""
    realloc("update", DATA / ds / "window.parquet", "--store", STORE)


@task
def monitor(ds: str) -> None:
    """Stop the day on an alarm."""
    realloc("monitor", "--store", STORE, "--logs", DATA / ds / "today.parquet")


@task(retries=2)
def recommend(ds: str) -> str:
    """Publish, whole or not at all."""
    out = DATA / ds / "recs.parquet"
    realloc("recommend", DATA / ds / "today.parquet", "--store", STORE, "--out", out)
    return str(out)


@dag(
    schedule="30 4 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1
)
def realloc_daily() -> None:
    """Update, look for drift, recommend."""
    update() >> monitor() >> recommend()


realloc_daily()
