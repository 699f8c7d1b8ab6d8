"""Ranges of parameters, checked with one sentence each."""

from collections.abc import Callable
from typing import Any

from realloc.base.errors import ConfigError

RANGES: dict[str, Callable[[float], bool]] = {
    "> 0": lambda value: value > 0,
    ">= 0": lambda value: value >= 0,
    "from 0 to 1": lambda value: 0 <= value <= 1,
}


def check_range(parameters: Any, names: tuple[str, ...], expected: str, where: str) -> None:
    """Refuse a parameter outside the `expected` range, one of `RANGES`."""
    for name in names:
        value = getattr(parameters, name)
        if not RANGES[expected](value):
            raise ConfigError(f"Expected {name} {expected} in {where}, got {value}.")
