"""`realloc recommend`: advice for today's rows from a fitted store, as Parquet or CSV."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from realloc.base.errors import ConfigError
from realloc.base.progress import show_progress
from realloc.base.tasks import processors
from realloc.batch import (
    Committed,
    Options,
    Shard,
    ShardResult,
    commit_shards,
    recommend_file,
    recommend_shard,
)
from realloc.batch.manifest import MANIFEST
from realloc.batch.summary import RunSummary
from realloc.cli.console import indented, stdout
from realloc.cli.options import AllowNetwork, Decisions, Quiet, Report, StorePath
from realloc.cli.outputs import Force, check_free
from realloc.model.config import read_config


class EngineName(StrEnum):
    """What runs tasks."""

    local = "local"
    ray = "ray"


def recommend(
    today: Annotated[
        list[str],
        typer.Argument(
            help="Parquet or CSV with the rows to decide on; no outcome needed."
        ),
    ],
    store: StorePath,
    out: Annotated[
        Path,
        typer.Option(help="Where to write: .parquet, .csv, or a folder for many parts."),
    ],
    shard: Annotated[
        str | None,
        typer.Option(
            help="Finish only this share of the parts, e.g. 3/8. Any number of processes "
            "may work on one folder."
        ),
    ] = None,
    commit: Annotated[
        bool,
        typer.Option("--commit", help="Publish the folder once all shards have run."),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML whose [decision], [constraints] and [publish] replace those of the fit."
        ),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(
            help="Most money of a channel over all rows, e.g. coupon=250000; repeatable."
        ),
    ] = None,
    force: Force = False,
    beyond_limits: Annotated[
        bool,
        typer.Option(
            "--beyond-limits",
            help="Publish even if a limit of [publish] is broken; a frozen store stays frozen.",
        ),
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; else one for each processor.")
    ] = None,
    engine: Annotated[
        EngineName,
        typer.Option(help="Where chunks are decided: here, or on a Ray cluster."),
    ] = EngineName.local,
    address: Annotated[
        str, typer.Option(help="Of the Ray cluster, such as ray://head:10001.")
    ] = "auto",
    summary: Annotated[
        Path | None,
        typer.Option(help="Where to write the run's figures as JSON; else beside `--out`."),
    ] = None,
    decisions: Decisions = None,
    report: Report = None,
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> None:
    """Recommend shares and money for every row, with the gain, how sure it is, and why.

    If it is killed or stopped, the same command continues where it was. No half-written file is
    ever seen under `--out`.
    """
    is_folder = shard is not None or commit or not out.suffix or out.is_dir()
    if not is_folder:  # many processes write to a folder, and a commit may be repeated
        check_free(out, force, "--out")
    for path, option in ((summary, "--summary"), (report, "--report")):
        check_free(path, force, option)
    pools = _pools(pool or [])
    rules = read_config(config)[1] if config is not None else None
    with show_progress(quiet, piped=True) as progress:
        options = Options(
            config=rules,
            pools=pools,
            jobs=jobs or processors(),
            ray=address if engine is EngineName.ray else None,
            force=beyond_limits,
            summary=summary,
            decisions=decisions,
            allow_network=allow_network,
            progress=progress,
        )
        if shard is not None:
            if commit:
                raise ConfigError(
                    "Expected either `--shard` or `--commit`, got both: "
                    "commit once all shards have run."
                )
            done = recommend_shard(today, store, out, _shard(shard), options)
            _show_shard(done, shard, stdout())
        elif is_folder:
            if not commit:
                recommend_shard(today, store, out, Shard(0, 1), options)
            committed = commit_shards(today, store, out, options)
            _show_committed(committed, out, stdout())
        else:
            result = recommend_file(today, store, out, options)
            _show(result.summary, result.out, result.summary_path, stdout())
    if report is not None and shard is None:
        from realloc.report.store import write_report

        write_report(store, report, allow_network, decisions)


def _shard(given: str) -> Shard:
    number, slash, count = given.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal()):
        raise ConfigError(f"Expected `--shard` as i/n, such as 3/8, got {given!r}.")
    return Shard(int(number), int(count))


def _pools(given: list[str]) -> dict[str, float] | None:
    pools: dict[str, float] = {}
    for text in given:
        name, _, amount = text.rpartition("=")
        try:
            pools[name] = float(amount)
        except ValueError:
            name = ""
        if not name:
            raise ConfigError(
                f"Expected `--pool` as channel=money, such as coupon=250000, got {text!r}."
            )
    return pools or None


def _show_shard(done: ShardResult, shard: str, console: Console) -> None:
    parts = f"{len(done.chunks)} of {done.of} parts"
    if done.offered:
        console.print(
            f"Shard {shard}: the offers of {parts} are written. Once all shards have run, run "
            "them again, or `--commit`, to keep the caps over all rows."
        )
    else:
        console.print(f"Shard {shard}: {parts} are finished, {done.rows:,} rows.")


def _show_committed(done: Committed, out: Path, console: Console) -> None:
    if done.summary is None:
        console.print(
            f"{escape(str(out))} was already committed: run {done.manifest.figures['run']}."
        )
        return
    _show(done.summary, out, out / MANIFEST, console)


def _show(summary: RunSummary, out: Path, figures: Path, console: Console) -> None:
    console.print(
        f"[bold]{summary.rows:,} rows[/], {summary.moved:,} moved → {escape(str(out))}"
    )
    if summary.frozen:
        console.print(
            f"  [bold red]Frozen[/] since {escape(summary.frozen)}: every mix is kept."
        )
    for broken in summary.broken_limits:
        console.print(f"  [bold red]Forced[/] although {escape(broken)}.")
    for line in summary.lines():
        console.print(indented(escape(line)))
    logged = (
        f", entry {summary.decision_log.entry} of the decision log"
        if summary.decision_log
        else ""
    )
    console.print(f"  Run {summary.run}{logged}. Figures: {escape(str(figures))}")
