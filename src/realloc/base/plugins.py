"""What other packages add, by entry point. Ours win, and a plugin loads only when it is named."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from realloc.base.errors import ConfigError

BASELINES = "realloc.baselines"
SOURCES = "realloc.sources"


def plugin_names(group: str) -> list[str]:
    """Names that installed packages offer; none of them is imported."""
    return sorted({point.name for point in entry_points(group=group)})


def find_plugin(group: str, name: str) -> Any | None:
    """Import what is offered under a name; None where nobody offers it."""
    found = list(entry_points(group=group, name=name))
    if not found:
        return None
    if len({point.value for point in found}) > 1:
        offered = " and ".join(sorted(map(_package, found)))
        raise ConfigError(
            f"Expected one package that offers {name!r} as {group!r}, got {offered}. "
            "Uninstall the others."
        )
    try:
        return found[0].load()
    except Exception as problem:
        raise ConfigError(
            f"Expected {name!r} of {_package(found[0])} to load as {group!r}, but it failed: "
            f"{type(problem).__name__}: {problem}."
        ) from problem


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value
