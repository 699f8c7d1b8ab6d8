"""The daily job as Dagster assets, partitioned by day."""

import os
import subprocess
from pathlib import Path

from dagster import AssetExecutionContext, DailyPartitionsDefinition, asset

STORE = os.environ.get("REALLOC_STORE", "/srv/budget/store")
DATA = Path(os.environ.get("REALLOC_FILES", "/srv/budget"))
DAYS = DailyPartitionsDefinition(start_date="2026-01-01")


def realloc(*words: object) -> None:
    """Run a command; anything but exit code 0 fails the asset, with the sentence in its log."""
    subprocess.run(["realloc", *map(str, words), "--quiet"], check=True)


@asset(partitions_def=DAYS)
def model_version(context: AssetExecutionContext) -> None:
    """The store after it has learned from the window that has ended."""
    day = DATA / context.partition_key
    realloc("update", day / "window.parquet", "--store", STORE)


@asset(partitions_def=DAYS, deps=[model_version])
def recommendations(context: AssetExecutionContext) -> None:
    """Today's splits, published whole or not at all; an alarm of the monitor stops them."""
    day = DATA / context.partition_key
    realloc("monitor", "--store", STORE, "--logs", day / "today.parquet")
    realloc(
        "recommend", day / "today.parquet", "--store", STORE, "--out", day / "recs.parquet"
    )
