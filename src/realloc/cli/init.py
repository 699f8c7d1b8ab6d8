"""`realloc init`: write a first realloc.toml from the data."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from realloc.base.errors import ConfigError
from realloc.cli.console import busy, progress_bar
from realloc.cli.options import Files, Quiet
from realloc.logs import Finding, Schema, check_logs, names
from realloc.logs.checks.variation import count
from realloc.logs.guess import Hints, guess_schema
from realloc.logs.reading.plan import make_plan
from realloc.logs.reading.read import load
from realloc.logs.reading.source import open_source


def init(
    logs: Files,
    out: Annotated[Path, typer.Option(help="Where to write.")] = Path("realloc.toml"),
    unit: Annotated[
        str | None, typer.Option(help="The column that names the unit, if it is not found.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="The column of dates.")] = None,
    outcome: Annotated[str | None, typer.Option(help="The column of the outcome.")] = None,
    channels: Annotated[
        str | None, typer.Option(help="The channel columns, separated by commas.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing file.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Write a first config from the data: what each column seems to be.

    Read it, correct it, then check.
    """
    if out.exists() and not force:
        raise ConfigError(
            f"Expected no file at {str(out)!r}, but there is one. "
            "Use --out for another name, or --force."
        )
    if not out.absolute().parent.is_dir():
        raise ConfigError(
            f"Expected the folder of {str(out)!r} to exist, but it does not. Make it first."
        )
    listed = [name.strip() for name in channels.split(",")] if channels else []
    hints = Hints(unit=unit, time=time, outcome=outcome, channels=tuple(listed))
    with busy("Looking at the columns", quiet):
        source = open_source(logs)
        schema = guess_schema(source, hints)
    with progress_bar("Reading", quiet=quiet) as advance:
        loaded = load(logs, schema, on_progress=advance)
    if loaded.logs is None:
        kinds = make_plan(source, schema).features
        pinned = [name for name, kind in kinds.items() if kind == "category"]
        text = _toml(source.columns.names, schema, list(kinds), pinned, loaded.findings)
        findings = loaded.findings
        state = "The log cannot be read as it is"
    else:
        with busy("Checking", quiet):
            findings = check_logs(loaded.logs).findings
        pinned = loaded.logs.pinned_schema.categorical or ()
        text = _toml(source.columns.names, schema, loaded.logs.features, pinned, findings)
        state = f"{len(loaded.logs):,} rows can be used"
    out.write_text(text, encoding="utf-8")
    typer.echo(
        f"Wrote {out}: unit {schema.unit}, time {schema.time}, outcome {schema.outcome}, "
        f"{len(schema.channels)} channels."
    )
    errors = count(sum(finding.level == "error" for finding in findings), "error")
    typer.echo(f"{state}; the check found {errors}. Next: realloc check … --config {out}")


def _toml(
    present: Iterable[str],
    schema: Schema,
    features: Sequence[str],
    categorical: Sequence[str],
    findings: Iterable[Finding],
) -> str:
    """The file's text, with what was left out and why as comments."""
    lines = [
        "# Written by `realloc init` from the data. Every line is a guess until you have read it.",
        "",
        "seed = 0",
        "money_digits = 2  # money is rounded to this many digits and still sums to the budget",
        "",
        "[schema]",
        f"unit = {_text(schema.unit)}",
        f"time = {_text(schema.time)}",
        f"outcome = {_text(schema.outcome)}",
        f"channels = {_list(schema.channels)}",
    ]
    if schema.long:
        lines.append(f"channel_column = {_text(str(schema.channel_column))}")
        lines.append(f"spend_column = {_text(str(schema.spend_column))}")
    elif schema.budget:
        lines.append(f"budget = {_text(schema.budget)}  # the channels are shares of it")
    else:
        lines.append(
            '# budget = "…"  # only if the channels are shares: the column they are shares of'
        )
    lines.append(f"features = {_list(features)}  # known before the decision")
    lines.append(f"categorical = {_list(categorical)}")
    taken = {*schema.fixed_columns, schema.spend_column}
    later = [
        _text(name) for name in present if name not in taken and names.looks_later(name)
    ]
    if later:
        lines.append(
            "# Named like results of the decision, so not used. If some were known before it, "
            "list them in both lines:"
        )
        lines.append(f"# known_before = [{', '.join(later)}]")
    if schema.propensity:
        lines.append(f"propensity = {_text(schema.propensity)}")
    if schema.currency:
        lines.append(f"currency = {_text(schema.currency)}")
    lines.append('# guardrails = ["…"]  # further outcomes that must not fall')
    notes = [""]
    for finding in findings:
        if finding.code == "unit_is_a_total" and finding.unit is not None:
            lines.append(
                f"# drop_units = [{_text(finding.unit)}]  # looks like the sum of other units"
            )
        if finding.level != "info":
            printable = "".join(
                sign if sign.isprintable() else " " for sign in finding.what
            )
            notes.append(f"# {finding.level}: {' '.join(printable.split())}")
    return "\n".join(lines + notes).rstrip() + "\n"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Sequence[str]) -> str:
    quoted = [_text(value) for value in values]
    if sum(map(len, quoted)) < 90:
        return f"[{', '.join(quoted)}]"
    return "[\n" + "".join(f"  {value},\n" for value in quoted) + "]"
