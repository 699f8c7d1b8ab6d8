"""`realloc status`, `rollback`, `verify`, `export`, `freeze`, `unfreeze`: look after a store."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from realloc.base.errors import ReallocError, StoreError
from realloc.cli.console import busy, plain_table, print_error, print_json, stdout
from realloc.cli.options import AsJson, Quiet, StorePath
from realloc.cli.outputs import Force, check_free
from realloc.decide.search.compiled import search_library
from realloc.decide.types import describe_searches
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store, Version


def status(store: StorePath, as_json: AsJson = False) -> None:
    """Show a store: its versions, the current one, whether it is frozen. Exit code 2 if broken."""
    place = Store(store)
    if not store.is_dir():
        raise StoreError(
            f"Expected a store at {str(store)!r}, but there is no folder. `realloc fit` makes one."
        )
    told = _describe(place)
    if as_json:
        print_json(told)
    else:
        _show(told, store, stdout())
    if told["problem"]:
        raise typer.Exit(2)


def rollback(
    store: StorePath,
    to: Annotated[
        int | None,
        typer.Option(
            "--to", min=1, help="A version that is kept; else the one before the current."
        ),
    ] = None,
) -> None:
    """Go back to an earlier version: its model becomes a new version. Nothing is removed."""
    version = Store(store).rollback(to)
    console = stdout()
    console.print(
        f"[bold]Version {version.number}[/] is current: the model of version {version.restores}."
    )
    count = len(version.windows)
    known = "one window" if count == 1 else f"{count} windows, the last"
    console.print(f"  It has learned from {known}: {version.windows[-1]}.")


def verify(store: StorePath, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Hash every version again and ask the current one's canary. Exit code 2 on a fault."""
    place = Store(store)
    with busy("Hashing", quiet):
        faults = place.verify()
    if as_json:
        print_json({"intact": not faults, "faults": list(faults)})
    elif not faults:
        stdout().print(
            f"[bold green]Intact.[/] {len(place.history())} versions, every checksum matches."
        )
    for fault in faults if not as_json else ():
        print_error(fault)
    if faults:
        raise typer.Exit(2)


def export(
    store: StorePath,
    out: Annotated[
        Path,
        typer.Option(help="Folder to write."),
    ],
    version: Annotated[
        int | None,
        typer.Option("--version", min=1, help="A version that is kept; else the current."),
    ] = None,
    force: Force = False,
) -> None:
    """Write a small copy of a version to answer with, without what learns."""
    check_free(out, force, folder=True)
    found = Store(store).export(out, version)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    stdout().print(
        f"[bold]Version {found.number}[/] → {escape(str(out))}, {size / 2**20:,.1f} MiB; "
        "`realloc.load` reads it."
    )


def freeze(
    store: StorePath,
    reason: Annotated[
        str, typer.Option(help="Why; `realloc status` shows it.")
    ] = "no reason was given",
) -> None:
    """The kill switch: every answer is "no change" until `realloc unfreeze`; updates may go on."""
    Store(store).freeze(reason)
    stdout().print('[bold]Frozen.[/] Every answer is "no change" until `realloc unfreeze`.')


def unfreeze(store: StorePath) -> None:
    """Let the current version answer again."""
    thawed = Store(store).unfreeze()
    stdout().print(
        "The current version answers again."
        if thawed
        else "The store was not frozen; nothing changed."
    )


def _describe(place: Store) -> dict[str, Any]:
    """Whatever can be read; what cannot is said under `problem`."""
    told: dict[str, Any] = {
        "store": str(place.path),
        "frozen": place.frozen,
        "writing": place.busy,
    }
    told |= {"current": None, "versions": [], "problem": None}
    told |= {"compiled_search": search_library() is not None, "last_batch": None}
    try:
        told["versions"] = [_plain(version) for version in place.history()]
        current = place.current()
        told["current"] = current.number if current else None
        told["last_batch"] = _last_batch(place)
    except ReallocError as problem:
        told["problem"] = str(problem)
    return told


def _last_batch(place: Store) -> dict[str, Any] | None:
    """Which search decided the newest batch of the store's decision log."""
    ledger = Ledger(place.path / DECISIONS)
    for number in reversed(ledger.numbers()):
        entry = ledger.entry(number)
        if entry.kind == "batch":
            return {"run": entry.run, "searches": entry.source.get("searches", {})}
    return None


def _plain(version: Version) -> dict[str, Any]:
    """A record for scripts; the schema is long and in every model."""
    return {name: value for name, value in asdict(version).items() if name != "schema"}


def _show(told: dict[str, Any], store: Path, console: Console) -> None:
    if told["frozen"]:
        console.print(f"[bold red]Frozen[/] since {escape(told['frozen'])}")
    if told["writing"]:
        console.print("Another process is writing to the store.")
    if not told["versions"] and not told["problem"]:
        console.print(f"{store} holds no model yet. `realloc fit` makes one.")
    table = plain_table()
    for title in ("version", "created (UTC)", "rounds", "last window", "rows", "model of"):
        table.add_column(title)
    for version in told["versions"]:
        last = version["windows"][-1]
        table.add_row(
            f"{version['number']}{' (current)' if version['number'] == told['current'] else ''}",
            version["created"].removesuffix("+00:00"),
            str(version["rounds"]),
            f"{last['first']} to {last['last']}",
            f"{last['rows']:,}",
            str(version["restores"] or ""),
        )
    if told["versions"]:
        console.print(table)
        console.print(
            "Compiled search: installed."
            if told["compiled_search"]
            else "Compiled search: not installed; numpy gives the same answers more slowly."
        )
    if told["last_batch"]:
        searches = describe_searches(told["last_batch"]["searches"])
        console.print(f"Last batch, run {escape(told['last_batch']['run'])}: {searches}.")
    if told["problem"]:
        console.print(f"[bold red]Broken.[/] {escape(told['problem'])}")
