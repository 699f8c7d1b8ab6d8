"""Imports that wait until first used, and optional packages that say how to install them."""

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from realloc.base.errors import MissingExtra

DISTRIBUTION = "realloc-uplift"


def need(module: str, extra: str | None = None) -> ModuleType:
    """Import `module`, or say which pip line installs it (`extra`: one of ours)."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        target = f"'{DISTRIBUTION}[{extra}]'" if extra else module
        raise MissingExtra(
            f"Expected the optional package {module!r} for this, but it is not installed. "
            f"Run: pip install {target}"
        ) from problem


def load_when_used(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`: `homes` maps each name to the module that has it."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return get
