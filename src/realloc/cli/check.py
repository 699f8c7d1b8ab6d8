"""`realloc check`: check logs before fitting."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from realloc.base.errors import ReallocError
from realloc.cli.console import (
    busy,
    indented,
    plain_table,
    print_json,
    progress_bar,
    stdout,
)
from realloc.cli.options import AsJson, DateFormat, Files, Quiet
from realloc.logs import Check, Finding, Schema, names
from realloc.logs.checks.check import check_loaded
from realloc.logs.checks.variation import Variation, count
from realloc.logs.guess import Hints, doubts, guess_schema
from realloc.logs.reading.read import load
from realloc.model.config import Config, read_config

MOST_CHANNELS = 40
SIGNS = {
    "error": "[bold red]✖ error[/]  ",
    "warning": "[yellow]! warning[/]",
    "info": "[cyan]· info[/]   ",
}


def check(
    logs: Files,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML with a [schema]; without it, one is guessed and shown."),
    ] = None,
    date_format: DateFormat = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check logs before fitting: what is wrong, what is risky, what will be used.

    Exit code 2 if there is an error.
    """
    try:
        result = _check(logs, config, date_format, quiet)
    except ReallocError as problem:
        if not as_json:
            raise
        what = str(problem).rstrip(".")
        unreadable = Finding("unreadable", "error", what, "", "", stops_reading=True)
        result = Check((unreadable,), None)
    if as_json:
        print_json({**result.to_json(), "guessed": config is None})
    else:
        show_check(result, stdout(), guessed=config is None)
    if not result.ok:
        raise typer.Exit(2)


def _check(
    logs: list[str], config: Path | None, date_format: str | None, quiet: bool
) -> Check:
    with busy("Looking at the columns", quiet):
        if config:
            schema, settings = read_config(config)
            if date_format:
                schema = replace(schema, read=replace(schema.read, date_format=date_format))
        else:
            schema = guess_schema(logs, Hints(date_format=date_format))
            settings = Config()
    with progress_bar("Reading", quiet=quiet) as advance:
        loaded = load(logs, schema, on_progress=advance)
    with busy("Checking", quiet):
        return check_loaded(loaded, schema, settings.check)


def show_check(check: Check, console: Console, guessed: bool = False) -> None:
    """The check for a person: the log in numbers, the findings, the verdict."""
    if check.schema:
        _show_schema(check.schema, check.features, console, guessed)
    if check.variation:
        _show_variation(check.variation, console)
    for finding in check.findings:
        _show_finding(finding, console)
    verdict = "[bold green]Ready to learn from.[/]"
    if check.errors:
        verdict = "[bold red]Not ready to learn from: mend the errors first.[/]"
    errors = count(len(check.errors), "error")
    warnings = count(len(check.warnings), "warning")
    console.print(f"{verdict} {errors}, {warnings}.")


def _show_schema(
    schema: Schema, features: tuple[str, ...], console: Console, guessed: bool
) -> None:
    source = (
        " (guessed from the data; `realloc init` writes it to a file)" if guessed else ""
    )
    console.print(f"[bold]Schema[/]{source}")
    kind = f"shares of {schema.budget}" if schema.budget else "spends"
    channels = names.shortened(list(schema.channels), MOST_CHANNELS)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    table.add_row("  unit", escape(schema.unit))
    table.add_row("  time", escape(schema.time))
    table.add_row("  outcome", escape(schema.outcome))
    table.add_row("  channels", escape(f"{channels} ({kind})"))
    table.add_row("  features", escape(", ".join(features) or "none"))
    if schema.read.changed:
        table.add_row("  read with", escape(schema.read.to_toml()))
    console.print(table)
    for question in doubts(schema, "channel"):
        console.print(indented(f"[yellow]?[/] {escape(question)}"))
    console.print()


def _show_variation(variation: Variation, console: Console) -> None:
    console.print(f"[bold]Log[/]  {variation.sentence}")
    table = plain_table()
    table.add_column("  channel", overflow="fold")
    for title in ("rows used", "units", "mean share", "5–95 %", "spread", "within units"):
        table.add_column(title, justify="right", no_wrap=True)
    for channel in variation.channels[:MOST_CHANNELS]:
        table.add_row(
            f"  {escape(channel.channel)}",
            f"{channel.rows_used:.0%}",
            f"{channel.units_using:,}",
            f"{channel.mean_share:.3f}",
            f"{channel.p05:.3f}–{channel.p95:.3f}",
            f"{channel.spread:.3f}",
            f"{channel.spread_within:.3f}",
        )
    console.print(table)
    more = len(variation.channels) - MOST_CHANNELS
    if more > 0:
        console.print(f"  … and {more} more channels (all in --json)")
    if variation.rows == variation.units:
        console.print(
            "  Every unit has one row, so nothing can be said of changes within units.\n"
        )
        return
    moves = (
        f"{variation.within_variance:.0%} of the variation of shares is within units; from one "
        f"period to the next a unit moves {variation.move_median:.1%} of its budget "
        f"(median; 90th percentile {variation.move_p90:.1%}).\n"
    )
    console.print(indented(moves))


def _show_finding(finding: Finding, console: Console) -> None:
    place = f" [dim]({escape(finding.place)})[/]" if finding.place else ""
    console.print(f"{SIGNS[finding.level]} [bold]{finding.code}[/]{place}")
    advice = f"→ {finding.advice}" if finding.advice else ""
    for text in (f"{finding.what}.", finding.meaning, advice):
        if text:
            console.print(indented(escape(text)))
    console.print()
