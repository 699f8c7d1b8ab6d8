"""`realloc abtest`: read out a randomized test, or plan one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realloc.base.errors import ConfigError
from realloc.base.validation import check_table, from_table
from realloc.cli.console import busy, print_error, print_json
from realloc.cli.options import AsJson, Quiet, Report
from realloc.cli.outputs import Force, check_free
from realloc.decide.config import DecisionConfig
from realloc.logs import ReadOptions
from realloc.logs.reading.source import open_source
from realloc.model.config import read_toml

if TYPE_CHECKING:
    from realloc.evaluate.abtest import AbtestConfig, Readout, TestPlan


def abtest(
    arms: Annotated[
        list[str],
        typer.Argument(
            help="Parquet or CSV: a row per unit, or per unit and day, with its arm."
        ),
    ],
    config: Annotated[Path, typer.Option(help="TOML with a table [abtest].")],
    report: Report = None,
    force: Force = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Plan a test: which effect it can detect. The table holds earlier weeks.",
        ),
    ] = False,
    units: Annotated[
        int | None,
        typer.Option(
            help="With --plan: randomized units; those of the table unless given."
        ),
    ] = None,
    effect: Annotated[
        float | None,
        typer.Option(
            help="With --plan: the effect to detect; prints how many units that takes."
        ),
    ] = None,
    power: Annotated[
        float, typer.Option(help="With --plan: the power, the probability of detecting it.")
    ] = 0.8,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read out a randomized test: effects, guardrails, verdict.
    Exit code 2 if the arms cannot be compared.
    """
    from realloc.evaluate.abtest import plan_test, read_out, to_html

    check_free(report, force, "--report")
    settings, decision = read_test(config)
    keys = read_toml(config).get("read", {})
    table = open_source(arms, from_table(ReadOptions, keys, f"[read] of {config}"))
    if plan:
        if report is not None:
            raise ConfigError(
                "Expected `--report` without `--plan`: there is nothing to report before a test."
            )
        with busy("Planning", quiet):
            planned = plan_test(table, settings, units=units, power=power, effect=effect)
        _show(planned, as_json)
        return
    if units is not None or effect is not None:
        raise ConfigError(
            "Expected `--plan` with `--units` or `--effect`; a readout takes its units from the "
            "table."
        )
    with busy("Comparing arms", quiet):
        readout = read_out(table, settings, decision.beta, decision.threshold)
    if report is not None:
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(to_html(readout), encoding="utf-8")
    _show(readout, as_json)
    if not readout.split.ok:
        print_error(
            "The arms cannot be compared (sample-ratio mismatch); the report is partial."
        )
        raise typer.Exit(2)


def read_test(path: Path) -> tuple["AbtestConfig", DecisionConfig]:
    """The test, and the settings the model decided with (defaults without a table [decision])."""
    from realloc.evaluate.abtest import parse_abtest

    tables = read_toml(path)
    if "abtest" not in tables:
        raise ConfigError(
            f"Expected a table [abtest] in {path}, but there is none. `realloc init … --abtest "
            f"--out {path}` adds one."
        )
    where = f"[abtest] of {path}"
    check_table(tables["abtest"], where)
    decision = from_table(
        DecisionConfig, tables.get("decision", {}), f"[decision] of {path}"
    )
    return parse_abtest(tables["abtest"], where), decision


def _show(result: "Readout | TestPlan", as_json: bool) -> None:
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(str(result))
