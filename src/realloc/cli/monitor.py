"""`realloc monitor` and `realloc audit`: does the model still fit, and did it decide as logged?"""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.padding import Padding

from realloc.cli.console import busy, print_error, print_json, stdout
from realloc.cli.options import AsJson, Decisions, Quiet, StorePath
from realloc.storage.store import Store


def monitor(
    store: StorePath,
    logs: Annotated[
        list[str],
        typer.Option(help="A window of logs, with or without outcomes; repeatable."),
    ],
    arm: Annotated[
        str | None,
        typer.Option(
            help="Column with `control` or `treatment`, where units were held out at random."
        ),
    ] = None,
    decisions: Decisions = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Drift of states and shares, support, age, realised gains. Exit code 2 on an alarm."""
    from realloc.monitor.watch import lines, watch

    with busy("Comparing", quiet):
        told = watch(Store(store), logs, arm, decisions)
    console = stdout()
    if as_json:
        print_json(told)
    else:
        for line in lines(told):
            console.print(Padding(escape(line), 0))
    for alarm in told["alarms"]:
        print_error(alarm)
    if told["alarms"]:
        raise typer.Exit(2)


def audit(
    store: StorePath,
    run: Annotated[
        str | None, typer.Option(help="One run only; `realloc recommend` prints its id.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Most rows of each entry, evenly spread; else all."),
    ] = None,
    decisions: Decisions = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Hash the decision log, then decide again on its rows: the same to the bit, or exit code 2."""
    from realloc.base.errors import LedgerError
    from realloc.monitor.redecide import audit as redecide_all
    from realloc.storage.ledger.ledger import DECISIONS, Ledger

    ledger = Ledger(decisions or store / DECISIONS)
    if not ledger.numbers():
        raise LedgerError(
            f"Expected decisions in {str(ledger.path)!r}, but there are none yet."
        )
    with busy("Hashing", quiet):
        faults = ledger.verify()
    with busy("Deciding again", quiet):
        found = [] if faults else list(redecide_all(Store(store), ledger, run, rows))
    if run is not None and not faults and not found:
        raise LedgerError(
            f"Expected a run {run!r} in {str(ledger.path)!r}, but there is none."
        )
    if as_json:
        told = {
            "intact": not faults,
            "faults": list(faults),
            "replays": [asdict(one) for one in found],
        }
        print_json(told)
    else:
        for one in found:
            version = f"version {one.version}" if one.version is not None else "no version"
            told = escape(
                one.problem or f"{one.rows:,} rows decided again, {one.differ:,} differ"
            )
            stdout().print(f"Entry {one.entry}, run {escape(one.run)}, {version}: {told}")
    wrong = [*faults, *(f"Entry {one.entry}: {one.first}." for one in found if one.differ)]
    for text in wrong:
        print_error(text)
    if wrong or any(one.problem for one in found):
        raise typer.Exit(2)
