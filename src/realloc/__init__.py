"""ReAlloc: the causal value of moving budget between channels, and conservative decisions from it.

Names load when first used, so that `import realloc` stays fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

from realloc.base.version import __version__

if TYPE_CHECKING:
    from realloc import baselines, evaluate
    from realloc.base.errors import ConfigError, LogError, ReallocError
    from realloc.evaluate.total import total_gain
    from realloc.logs import (
        Logs,
        ReadOptions,
        Schema,
        check_source,
        guess_schema,
        read_logs,
        split_by_time,
        split_by_unit,
    )
    from realloc.model.config import Config, read_config
    from realloc.model.realloc import ReAlloc, load
    from realloc.world import Regime, World

_HOMES = {
    "Config": "model.config",
    "ConfigError": "base.errors",
    "LogError": "base.errors",
    "Logs": "logs",
    "ReallocError": "base.errors",
    "ReAlloc": "model.realloc",
    "ReadOptions": "logs",
    "Regime": "world",
    "Schema": "logs",
    "World": "world",
    "check_source": "logs",
    "baselines": "",
    "evaluate": "",
    "guess_schema": "logs",
    "load": "model.realloc",
    "read_config": "model.config",
    "read_logs": "logs",
    "split_by_time": "logs",
    "split_by_unit": "logs",
    "total_gain": "evaluate.total",
}

__all__ = [
    "Config",
    "ConfigError",
    "LogError",
    "Logs",
    "ReAlloc",
    "ReadOptions",
    "ReallocError",
    "Regime",
    "Schema",
    "World",
    "__version__",
    "baselines",
    "check_source",
    "evaluate",
    "guess_schema",
    "load",
    "read_config",
    "read_logs",
    "split_by_time",
    "split_by_unit",
    "total_gain",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'realloc' has no attribute {name!r}")
    home = _HOMES[name]
    return (
        getattr(importlib.import_module(f"realloc.{home}"), name)
        if home
        else importlib.import_module(f"realloc.{name}")
    )


def __dir__() -> list[str]:
    return __all__
