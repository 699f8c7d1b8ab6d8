"""`realloc recommend`: advice for today's rows from a fitted store, as Parquet or CSV."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from realloc.base.errors import ConfigError
from realloc.base.progress import show_progress
from realloc.base.tasks import processors
from realloc.batch import BatchResult, Options, recommend_file
from realloc.cli.console import indented, stdout
from realloc.cli.options import AllowNetwork, Decisions, Quiet, Report, StorePath
from realloc.cli.outputs import Force, check_free
from realloc.model.config import read_config


def recommend(
    today: Annotated[
        list[str],
        typer.Argument(
            help="Parquet or CSV with the rows to decide on; no outcome needed."
        ),
    ],
    store: StorePath,
    out: Annotated[Path, typer.Option(help="Where to write: .parquet or .csv.")],
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML whose [decision], [constraints] and [publish] replace those of the fit."
        ),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(
            help="Most money of a channel over all rows, e.g. coupon=250000; repeatable. "
            "Needs all rows in memory."
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
    for path, option in ((out, "--out"), (summary, "--summary"), (report, "--report")):
        check_free(path, force, option)
    pools = _pools(pool or [])
    rules = read_config(config)[1] if config is not None else None
    with show_progress(quiet, piped=True) as progress:
        options = Options(
            config=rules,
            pools=pools,
            jobs=jobs or processors(),
            force=beyond_limits,
            summary=summary,
            decisions=decisions,
            allow_network=allow_network,
            progress=progress,
        )
        result = recommend_file(today, store, out, options)
    if report is not None:
        from realloc.report.store import write_report

        write_report(store, report, allow_network, decisions)
    _show(result, stdout())


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


def _show(result: BatchResult, console: Console) -> None:
    summary = result.summary
    console.print(
        f"[bold]{summary.rows:,} rows[/], {summary.moved:,} moved → {escape(str(result.out))}"
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
    console.print(
        f"  Run {summary.run}{logged}. Figures: {escape(str(result.summary_path))}"
    )
