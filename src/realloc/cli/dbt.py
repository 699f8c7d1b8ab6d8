"""`realloc dbt`: logs and recommendations in the words of dbt."""

from pathlib import Path
from typing import Annotated

import typer

from realloc.base.disk import replace_file
from realloc.base.errors import ConfigError


def dbt(
    config: Annotated[Path, typer.Argument(help="The config with the table [schema].")],
    out: Annotated[Path, typer.Option(help="Where to write.")] = Path("schema.yml"),
    logs: Annotated[str, typer.Option(help="Name of the model of the log.")] = "logs",
    recommendations: Annotated[
        str, typer.Option(help="Name of the model of recommendations.")
    ] = "recommendations",
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing file.")
    ] = False,
) -> None:
    """Write a dbt schema.yml for logs and recommendations: columns in words, and their tests."""
    from realloc.decide.dbt import dbt_schema
    from realloc.model.config import read_config

    if out.exists() and not force:
        raise ConfigError(
            f"Expected no file at {str(out)!r}, but there is one. "
            "Use --out for another name, or --force."
        )
    schema, settings = read_config(config)
    in_money = settings.decision.worth is not None
    text = dbt_schema(schema, logs, recommendations, in_money)
    replace_file(out, text.encode())
    typer.echo(f"dbt schema → {out}")
