"""`realloc serve`: answers over HTTP from the current version of a store."""

import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from realloc.base.errors import StoreError
from realloc.base.imports import need
from realloc.cli.options import StorePath


class WithoutPandas:
    """Hides pandas, which pyarrow loads where it is installed: 0.25 s that no request needs."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Not here."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def serve(
    store: StorePath,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; any but this machine's needs a token."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")
    ] = 8000,
    config: Annotated[Path | None, typer.Option(help="TOML with a table [serve].")] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with one token a line; else the variable REALLOC_TOKEN."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name under which the service may be called; repeatable."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Do not log each request.")
    ] = False,
) -> None:
    """Serve recommendations over HTTP; a new version is taken over while it runs."""
    sys.meta_path.insert(0, WithoutPandas())
    need("uvicorn", "serve")
    need("prometheus_client", "serve")
    need("orjson", "serve")
    from realloc.serve.http.config import read_serve
    from realloc.serve.http.server import Address, run

    if not store.is_dir():
        raise StoreError(
            f"Expected a store at {str(store)!r}, but there is no folder. `realloc fit` makes one."
        )
    logging.basicConfig(
        level=logging.WARNING if quiet else logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        stream=sys.stderr,
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    settings = read_serve(config)
    settings = replace(settings, allow_hosts=(*settings.allow_hosts, *(allow_host or ())))
    run(store.absolute(), settings, Address(host=host, port=port, token_file=token_file))
