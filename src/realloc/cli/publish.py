"""`realloc publish`: what was approved in the console, as a file."""

import getpass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from realloc.base.errors import StoreError
from realloc.base.imports import need
from realloc.cli.console import stdout
from realloc.cli.options import AllowNetwork, Decisions, StorePath
from realloc.cli.outputs import Force, check_free


def publish(
    store: StorePath,
    out: Annotated[Path, typer.Option(help="Where to write: .parquet or .csv.")],
    run: Annotated[str, typer.Option(help="The run; else the newest.")] = "",
    reason: Annotated[str, typer.Option(help="Why, for the decision log.")] = "",
    decisions: Decisions = None,
    allow_network: AllowNetwork = False,
    force: Force = False,
) -> None:
    """Write the reviewed run: approved and edited mixes, today's for every other row."""
    check_free(out, force)
    need("duckdb", "console")
    from realloc.console.publish import publish_approved
    from realloc.console.source import ConsoleSource
    from realloc.storage.store import Store

    if not store.is_dir():
        raise StoreError(
            f"Expected a store at {str(store)!r}, but there is no folder. `realloc fit` makes one."
        )
    source = ConsoleSource(Store(store, allow_network=allow_network), decisions)
    done = publish_approved(source, out, getpass.getuser(), reason, run)
    stdout().print(
        f"[bold]{done.rows:,} rows[/] → {escape(str(done.out))}: {done.approved:,} approved, "
        f"{done.edited:,} edited, {done.rejected:,} rejected; every other row keeps its mix. "
        f"Entry {done.entry} of the decision log."
    )
