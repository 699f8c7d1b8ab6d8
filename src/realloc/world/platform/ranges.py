"""Ranges of parameters, checked with one sentence each."""

from typing import Any

from realloc.base.errors import ConfigError


def check_above_zero(parameters: Any, names: tuple[str, ...], where: str) -> None:
    """Refuse a parameter of 0 or less."""
    for name in names:
        if getattr(parameters, name) <= 0:
            raise ConfigError(f"Expected {name} > 0 in {where}, got {getattr(parameters, name)}.")


def check_not_negative(
    parameters: Any,
    names: tuple[str, ...],
    where: str,
) -> None:
    """Refuse a parameter below 0."""
    for name in names:
        if getattr(parameters, name) < 0:
            raise ConfigError(f"Expected {name} >= 0 in {where}, got {getattr(parameters, name)}.")


def check_parts(parameters: Any, names: tuple[str, ...], where: str) -> None:
    """Refuse a parameter that is not between 0 and 1."""
    for name in names:
        value = getattr(parameters, name)
        if not 0 <= value <= 1:
            raise ConfigError(f"Expected {name} from 0 to 1 in {where}, got {value}.")
