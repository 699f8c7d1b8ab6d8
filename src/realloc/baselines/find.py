"""A baseline by its name: ours, or one that another package offers as `realloc.baselines`."""

from collections.abc import Callable

from realloc.base import plugins
from realloc.base.errors import ConfigError
from realloc.base.validation import nearest
from realloc.baselines import BASELINES
from realloc.decide.types import Policy


def find_baseline(name: str) -> Callable[..., Policy]:
    """What makes the policy; ours win over a plugin of the same name.

    >>> find_baseline("uniform").__name__
    'Uniform'
    """
    found = BASELINES.get(name) or plugins.find_plugin(plugins.BASELINES, name)
    if found is None:
        known = [*BASELINES, *plugins.plugin_names(plugins.BASELINES)]
        raise ConfigError(f"Unknown baseline {name!r}.{nearest(name, known)}")
    return found
