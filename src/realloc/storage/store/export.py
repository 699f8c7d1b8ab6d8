"""A small copy of a version: it answers to the bit as the version does, and holds nothing that only the next round needs.

`Store.export(..., write=...)` takes any writer: it gets the folder of a model that has just been checked, where to write, and
which version it is.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Origin = Mapping[
    str, Any
]  # `version`, its number, and `model`, the SHA-256 of the model's manifest
Writer = Callable[[Path, Path, Origin], None]


def write_small(model: Path, target: Path, origin: Origin) -> None:
    """The model without its replay: `realloc.load` reads it, and `update` refuses it."""
    from realloc.model.files import read_model, without_replay, write_model

    state, config, schema = read_model(model)
    write_model(target, without_replay(state), config, schema, origin)
