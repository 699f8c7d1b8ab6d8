"""`realloc mcp`: what an agent may ask of a store."""

from pathlib import Path
from typing import Annotated

import typer

from realloc.base.errors import StoreError
from realloc.cli.options import StorePath


def mcp(
    store: StorePath,
    files: Annotated[
        Path, typer.Option(help="The only folder whose files the agent may have read.")
    ] = Path(),
) -> None:
    """Let an agent ask about a store over MCP (stdin and stdout); it can change nothing."""
    from realloc.report.mcp import serve_mcp

    if not store.is_dir():
        raise StoreError(
            f"Expected a store at {str(store)!r}, but there is no folder. `realloc fit` makes one."
        )
    serve_mcp(store.absolute(), files.absolute())
