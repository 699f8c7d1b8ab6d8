"""What a command may write: nothing that is there already is replaced unasked."""

from pathlib import Path
from typing import Annotated

import typer

from realloc.base.errors import ConfigError

Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]


def check_free(
    path: Path | None, force: bool, option: str = "--out", folder: bool = False
) -> None:
    """Refuse a name that is taken, before any work is done."""
    if path is None:
        return
    if path.is_dir() and not folder:
        raise ConfigError(
            f"Expected a file for `{option}`, got the folder {str(path)!r}. Name a file in it."
        )
    taken = any(path.iterdir()) if path.is_dir() else path.exists()
    if taken and not force:
        raise ConfigError(
            f"Expected a new name for `{option}`, but {str(path)!r} exists already. Choose another "
            "one, or replace it with `--force`."
        )
