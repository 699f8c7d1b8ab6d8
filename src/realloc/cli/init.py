"""`realloc init`: write a first realloc.toml from the data."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from realloc.base.errors import ConfigError
from realloc.cli.console import busy, progress_bar
from realloc.logs import Finding, Logs, Schema, check_logs, names
from realloc.logs.guess import Hints, guess_schema
from realloc.logs.reading.plan import make_plan
from realloc.logs.reading.read import load
from realloc.logs.reading.source import open_source


def init(
    logs: Annotated[
        list[str],
        typer.Argument(help="Parquet or CSV file(s), a quoted glob, or a folder of partitions."),
    ],
    out: Annotated[Path, typer.Option(help="Where to write.")] = Path("realloc.toml"),
    unit: Annotated[
        str | None, typer.Option(help="The column that names the unit, if it is not found.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="The column of dates.")] = None,
    outcome: Annotated[str | None, typer.Option(help="The column of the outcome.")] = None,
    channels: Annotated[
        str | None, typer.Option(help="The channel columns, separated by commas.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Write a first config from the data: what each column seems to be. Read it, correct it, then check."""
    if out.exists() and not force:
        raise ConfigError(
            f"Expected no file at {str(out)!r}, but there is one. Use --out for another name, or --force."
        )
    if not out.absolute().parent.is_dir():
        raise ConfigError(
            f"Expected the folder of {str(out)!r} to exist, but it does not. Make it first."
        )
    listed = tuple(name.strip() for name in channels.split(",")) if channels else ()
    with busy("Looking at the columns", quiet):
        schema = guess_schema(
            open_source(logs), Hints(unit=unit, time=time, outcome=outcome, channels=listed)
        )
    with progress_bar("Reading", quiet=quiet) as advance:
        loaded = load(logs, schema, on_progress=advance)
    if loaded.logs is None:
        plan = make_plan(open_source(logs), schema)
        kinds = {name: kind == "category" for name, kind in plan.features.items()}
        findings: Sequence[Finding] = loaded.findings
    else:
        kinds = {
            name: pa.types.is_dictionary(loaded.logs.table[name].type)
            for name in loaded.logs.features
        }
        with busy("Checking", quiet):
            findings = check_logs(loaded.logs).findings
    out.write_text(_toml(schema, kinds, _later(logs, schema), findings), encoding="utf-8")
    _say(out, schema, loaded.logs, findings)


def _later(logs: list[str], schema: Schema) -> list[str]:
    """Columns that were left out for their names: for the user to take back."""
    taken = {*schema.fixed_columns, schema.spend_column}
    return [
        name
        for name in open_source(logs).columns.names
        if name not in taken and names.looks_later(name)
    ]


def _say(out: Path, schema: Schema, logs: Logs | None, findings: Sequence[Finding]) -> None:
    parts = f"unit {schema.unit}, time {schema.time}, outcome {schema.outcome}, {len(schema.channels)} channels"
    typer.echo(f"Wrote {out}: {parts}.")
    errors = sum(finding.level == "error" for finding in findings)
    state = "It could not be read as it is" if logs is None else f"{len(logs):,} rows can be used"
    typer.echo(
        f"{state}; the check found {errors} error{'' if errors == 1 else 's'}. Next: realloc check … --config {out}"
    )


def _toml(
    schema: Schema, kinds: dict[str, bool], later: list[str], findings: Sequence[Finding]
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
        lines += [
            f"channel_column = {_text(str(schema.channel_column))}",
            f"spend_column = {_text(str(schema.spend_column))}",
        ]
    elif schema.budget:
        lines.append(f"budget = {_text(schema.budget)}  # the channels are shares of it")
    else:
        lines.append(
            '# budget = "…"  # only if the channels are shares: the column they are shares of'
        )
    lines.append(f"features = {_list(kinds)}  # known before the decision")
    lines.append(
        f"categorical = {_list([name for name, is_category in kinds.items() if is_category])}"
    )
    if later:
        lines.append(
            "# Named like results of the decision, so not used. If some were known before it, list them in both lines:"
        )
        lines.append(f"# known_before = [{', '.join(map(_text, later))}]")
    if schema.propensity:
        lines.append(f"propensity = {_text(schema.propensity)}")
    if schema.currency:
        lines.append(f"currency = {_text(schema.currency)}")
    lines.append('# guardrails = ["…"]  # further outcomes that must not fall')
    for finding in findings:
        if finding.code == "unit_is_a_total" and finding.unit is not None:
            lines.append(
                f"# drop_units = [{_text(finding.unit)}]  # looks like the sum of other units"
            )
    lines += [
        "",
        *(
            f"# {finding.level}: {_comment(finding.what)}"
            for finding in findings
            if finding.level != "info"
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Sequence[str] | dict[str, bool]) -> str:
    quoted = [_text(value) for value in values]
    if sum(map(len, quoted)) < 90:
        return f"[{', '.join(quoted)}]"
    return "[\n" + "".join(f"  {value},\n" for value in quoted) + "]"


def _comment(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
