"""Packages whose names load when first used, so that a config or `--help` never waits for torch."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def load_when_used(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`: `homes` maps each name to the module below `package` that has it."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return get
