"""The table `[serve]` of a config file."""

from collections.abc import Mapping
from pathlib import Path

from realloc.base.errors import ConfigError
from realloc.base.validation import from_table
from realloc.model.config import read_toml
from realloc.serve.http.config import ServeConfig


def read_serve(path: Path | None) -> ServeConfig:
    """The settings of a file, or the defaults."""
    table = {} if path is None else read_toml(path).get("serve", {})
    if not isinstance(table, Mapping):
        raise ConfigError(f"Expected [serve] of {path} to be a table of keys.")
    return from_table(ServeConfig, table, "[serve]")
