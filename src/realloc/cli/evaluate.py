"""`realloc evaluate`: what logs say about a fitted store, and whether to launch it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from realloc.base.progress import show_progress
from realloc.base.validation import from_table
from realloc.cli.console import indented, plain_table, print_json, progress_bar, stdout
from realloc.cli.fit import open_store
from realloc.cli.options import AsJson, Files, Quiet, Report, StorePath
from realloc.cli.outputs import Force, check_free
from realloc.logs import Schema
from realloc.model.config import read_config, read_toml
from realloc.model.realloc import ReAlloc

if TYPE_CHECKING:
    from realloc.evaluate.report import EvaluationReport, ReportConfig
    from realloc.evaluate.report.section import Section

COLOURS = {"launch": "bold green", "test small": "bold yellow", "do not launch": "bold red"}


def evaluate(
    logs: Files,
    store: StorePath,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML with [report]; its [decision] and [constraints] replace those of the fit, "
            "its propensity the schema's."
        ),
    ] = None,
    report: Report = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate a store on logs, offline: value on randomized rows, ranking, support, guardrails,
    and a verdict on launching.
    """
    from realloc.evaluate.report import evaluation_report, to_html

    check_free(report, force, "--report")
    model = open_store(store)
    settings, schema = _settings(model, config)
    with (
        progress_bar("Reading", quiet=quiet) as advance,
        show_progress(quiet, piped=True) as progress,
    ):
        evaluated = evaluation_report(
            model, logs, settings, schema=schema, progress=progress, on_progress=advance
        )
    if report is not None:
        report.parent.mkdir(parents=True, exist_ok=True)
        title = f"Evaluation report of {store.resolve().name}"
        report.write_text(to_html(evaluated, title), encoding="utf-8")
    if as_json:
        print_json(evaluated.to_json())
    else:
        _show(evaluated, stdout())


def _settings(model: ReAlloc, path: Path | None) -> "tuple[ReportConfig, Schema]":
    """The table [report] of the file; its rules of decision and its column of propensities."""
    from realloc.evaluate.report import ReportConfig

    schema = model.known_schema
    if path is None:
        return ReportConfig(), schema
    given, config = read_config(path)
    model.decide_with(config.decision, config.constraints)
    table = read_toml(path).get("report", {})
    schema = replace(schema, propensity=given.propensity or schema.propensity)
    return from_table(ReportConfig, table, f"[report] of {path}"), schema


def _show(report: "EvaluationReport", console: Console) -> None:
    console.print(f"[{COLOURS[report.verdict]}]{report.verdict.capitalize()}.[/]")
    for reason in report.reasons:
        console.print(indented(f"• {escape(reason)}"))
    for section in report.sections:
        _show_section(section, console)
    console.print("\n[bold]Rules of the verdict[/]")
    for rule in report.rules:
        console.print(indented(f"• {escape(rule)}"))


def _show_section(section: "Section", console: Console) -> None:
    console.print(f"\n[bold]{escape(section.title)}[/]")
    for text in section.missing:
        console.print(indented(f"[yellow]! {escape(text)}[/]"))
    for text in section.lines:
        console.print(indented(escape(text)))
    if section.rows:
        table = plain_table()
        for head in section.heads:
            table.add_column(head, overflow="fold")
        for row in section.rows:
            table.add_row(*map(escape, row))
        console.print(indented(table))
