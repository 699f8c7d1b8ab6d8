"""`realloc console`: a store in the browser."""

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from realloc.base.errors import StoreError
from realloc.base.imports import need
from realloc.cli.options import AllowNetwork, Decisions, StorePath


def console(
    store: StorePath,
    runs: Annotated[
        Path | None,
        typer.Option(help="Folder with what `evaluate --json` and `abtest --json` wrote."),
    ] = None,
    decisions: Decisions = None,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; any but this machine's needs tokens."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")
    ] = 8080,
    role: Annotated[
        str, typer.Option(help="The most that a token may allow: read, review or admin.")
    ] = "read",
    token_file: Annotated[
        Path | None, typer.Option(help="File with `<token> <role> <name>` a line.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name under which the console is called; repeatable."),
    ] = None,
    allow_network: AllowNetwork = False,
) -> None:
    """Look at a store in the browser: decisions with their evidence, what if, review, versions."""
    for name in ("starlette", "uvicorn", "duckdb"):
        need(name, "console")
    from realloc.base.validation import check_known
    from realloc.console.roles import ROLES
    from realloc.console.server import ConsoleSettings, run_console

    check_known("`--role`", role, ROLES, "the command")
    if not store.is_dir():
        raise StoreError(
            f"Expected a store at {str(store)!r}, but there is no folder. `realloc fit` makes one."
        )
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        stream=sys.stderr,
    )
    run_console(
        ConsoleSettings(
            store=store.absolute(),
            decisions=decisions,
            runs=runs,
            host=host,
            port=port,
            role=role,
            token_file=token_file,
            allow_hosts=tuple(allow_host or ()),
            allow_network=allow_network,
        )
    )
