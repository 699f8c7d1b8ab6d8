"""`realloc init`: write a first realloc.toml from the data."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from realloc.base import disk
from realloc.base.errors import ConfigError, LogError
from realloc.cli.console import busy, progress_bar
from realloc.cli.first_test import abtest_lines, toml_text
from realloc.cli.options import DateFormat, Files, Quiet
from realloc.cli.outputs import Force, check_free
from realloc.logs import Check, Finding, Schema, names
from realloc.logs.checks.check import check_loaded
from realloc.logs.checks.variation import count
from realloc.logs.guess import Hints, doubts, guess_schema
from realloc.logs.reading.read import Loaded, load
from realloc.logs.reading.source import open_source
from realloc.model.config import read_config, read_toml


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
    channel_column: Annotated[
        str | None,
        typer.Option(help="With one row per channel: the column that names the channel."),
    ] = None,
    spend_column: Annotated[
        str | None, typer.Option(help="With one row per channel: the column of its spend.")
    ] = None,
    abtest: Annotated[
        bool,
        typer.Option(
            "--abtest",
            help="Also write [abtest], to read out a test; an existing file only gets that.",
        ),
    ] = False,
    force: Force = False,
    date_format: DateFormat = None,
    quiet: Quiet = False,
) -> None:
    """Write a first config from the data: what each column seems to be, and how text is written.

    Read it, correct it, then check.
    """
    if abtest and out.exists() and not force:
        _add_test(logs, out)
        return
    check_free(out, force)
    if not out.absolute().parent.is_dir():
        raise ConfigError(
            f"Expected the folder of {str(out)!r} to exist, but it does not. Make it first."
        )
    hints = Hints(
        unit=unit,
        time=time,
        outcome=outcome,
        channels=tuple(name.strip() for name in channels.split(",")) if channels else (),
        channel_column=channel_column,
        spend_column=spend_column,
        date_format=date_format,
    )
    with busy("Looking at the columns", quiet):
        schema = guess_schema(logs, hints)
    with progress_bar("Reading", quiet=quiet) as advance:
        loaded = load(logs, schema, on_progress=advance)
    for finding in loaded.findings:
        if finding.code == "ambiguous_dates":
            raise LogError(finding.sentence)
    with busy("Checking", quiet):
        checked = check_loaded(loaded, schema)
    source = open_source(logs, schema.read)
    text = _toml(source.columns.names, loaded, schema, checked.findings)
    if abtest:
        text = "\n".join([text, *abtest_lines(schema, source), ""])
    disk.replace_file(out, text.encode())
    for line in _said(loaded, schema, checked, out):
        typer.echo(line)


def _add_test(logs: list[str], out: Path) -> None:
    """Add [abtest] to a config that has none."""
    schema, _ = read_config(out)
    if "abtest" in read_toml(out):
        raise ConfigError(
            f"Expected a config without [abtest], but {str(out)!r} has one. Correct it there."
        )
    text = out.read_text(encoding="utf-8").rstrip("\n")
    lines = abtest_lines(schema, open_source(logs, schema.read))
    disk.replace_file(out, "\n".join([text, "", *lines, ""]).encode())
    typer.echo(f"Added [abtest] to {out}. Next: realloc abtest … --config {out}")


def _said(loaded: Loaded, schema: Schema, checked: Check, out: Path) -> Iterator[str]:
    """What was written, what to confirm in it, and what to do next."""
    yield (
        f"Wrote {out}: unit {schema.unit}, time {schema.time}, outcome {schema.outcome}, "
        f"{len(schema.channels)} channels."
    )
    if schema.read.changed:
        yield f"The text is read with {schema.read.to_toml()}; [read] shows its first row."
    for question in doubts(schema):
        yield f"Please confirm: {question}"
    state = "The log cannot be read as it is"
    if loaded.logs is not None:
        state = f"{len(loaded.logs):,} rows can be used"
    errors = count(len(checked.errors), "error")
    yield f"{state}; the check found {errors}. Next: realloc check … --config {out}"


def _toml(
    present: Iterable[str], loaded: Loaded, schema: Schema, findings: Iterable[Finding]
) -> str:
    """The file's text, with why each part was given and what was left out as comments."""
    lines = [
        "# Written by `realloc init` from the data. Every line is a guess until you have read it.",
        "",
        "seed = 0",
        "money_digits = 2  # money is rounded to this many digits and still sums to the budget",
        "",
        *_read_table(schema),
        "[schema]",
        *_schema_lines(schema),
    ]
    features, categorical = loaded.features, loaded.categorical
    lines.append(f"features = {_list(features)}  # known before the decision")
    lines.append(f"categorical = {_list(categorical)}")
    taken = {*schema.fixed_columns, schema.spend_column, *features}
    later = [
        toml_text(name) for name in present if name not in taken and names.looks_later(name)
    ]
    if later:
        lines.append(
            "# Named like results of the decision, so not used. Were some known before it? Then "
            "list them in `features`, too:"
        )
        lines.append(f"# known_before = [{', '.join(later)}]")
    if schema.propensity:
        lines.append(f"propensity = {toml_text(schema.propensity)}")
    if schema.currency:
        lines.append(f"currency = {toml_text(schema.currency)}")
    lines.append('# guardrails = ["…"]  # further outcomes that must not fall')
    notes = [""]
    for finding in findings:
        if finding.code == "unit_is_a_total" and finding.unit is not None:
            lines.append(
                f"# drop_units = [{toml_text(finding.unit)}]  # looks like the sum of other units"
            )
        if finding.level != "info" and finding.code != "post_decision_name":
            notes.append(_comment(f"{finding.level}: {finding.what}"))
    return "\n".join(lines + notes).rstrip() + "\n"


def _read_table(schema: Schema) -> list[str]:
    """The table [read] with an example, where the text is not plain CSV with ISO dates."""
    if not schema.read.changed:
        return []
    lines = ["[read]  # how the text of the files is written, for all later verbs"]
    if "[read]" in schema.notes:
        lines.append(_comment(schema.notes["[read]"]))
    return [*lines, schema.read.to_toml("\n"), ""]


def _schema_lines(schema: Schema) -> list[str]:
    """The parts of the columns, with a note for each."""
    lines = [
        f"{part} = {toml_text(name)}{_note(schema, name)}"
        for part, name in (
            ("unit", schema.unit),
            ("time", schema.time),
            ("outcome", schema.outcome),
        )
    ]
    lines.append("channels = [")
    lines += [f"  {toml_text(name)},{_note(schema, name)}" for name in schema.channels]
    lines.append("]")
    if schema.long:
        lines.append(f"channel_column = {toml_text(str(schema.channel_column))}")
        lines.append(f"spend_column = {toml_text(str(schema.spend_column))}")
    elif schema.budget:
        lines.append(
            f"budget = {toml_text(schema.budget)}  # the channels are shares of it"
        )
    else:
        lines.append(
            '# budget = "…"  # only if the channels are shares: the column they are shares of'
        )
    return lines


def _note(schema: Schema, name: str) -> str:
    note = schema.notes.get(name)
    return f"  {_comment(note.split(': ', 1)[-1])}" if note else ""


def _comment(text: str) -> str:
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return f"# {' '.join(printable.split())}"


def _list(values: Sequence[str]) -> str:
    quoted = [toml_text(value) for value in values]
    if sum(map(len, quoted)) < 90:
        return f"[{', '.join(quoted)}]"
    return "[\n" + "".join(f"  {value},\n" for value in quoted) + "]"
