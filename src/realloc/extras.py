"""Optional packages: import them through here, so that a missing one says how to get it."""

import importlib
from types import ModuleType

from realloc.errors import MissingExtra

DISTRIBUTION = "realloc-uplift"


def need(module: str, extra: str | None = None) -> ModuleType:
    """Import `module`, or say which pip line installs it (`extra`: one of ours; None: the package itself)."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        target = f"'{DISTRIBUTION}[{extra}]'" if extra else module
        text = f"Expected the optional package {module!r} for this, but it is not installed. Run: pip install {target}"
        raise MissingExtra(text) from problem
