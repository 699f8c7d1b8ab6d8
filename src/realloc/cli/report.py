"""`realloc report`: a store as one page that needs nothing else."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from realloc.base.errors import StoreError
from realloc.cli.console import busy, stdout
from realloc.cli.options import AllowNetwork, Quiet, StorePath
from realloc.cli.outputs import Force, check_free


def report(
    store: StorePath,
    out: Annotated[Path, typer.Option(help="The page to write: .html.")] = Path(
        "report.html"
    ),
    against: Annotated[
        int | None,
        typer.Option(
            min=1, help="Compare the current version with this one instead; see `status`."
        ),
    ] = None,
    allow_network: AllowNetwork = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a page on the newest batch of a store and the model behind it; no script, one file."""
    from realloc.report.store import write_comparison, write_report

    if not store.is_dir():
        raise StoreError(
            f"Expected a store at {str(store)!r}, but there is no folder. `realloc fit` makes one."
        )
    check_free(out, force)
    with busy("Writing the report", quiet):
        if against is None:
            write_report(store, out, allow_network)
        else:
            write_comparison(store, against, out, allow_network)
    stdout().print(f"Report → {escape(str(out))}, {out.stat().st_size / 1024:,.0f} KiB")
