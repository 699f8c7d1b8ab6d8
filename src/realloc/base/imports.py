"""Optional packages that say how to install them."""

import importlib
from types import ModuleType

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
