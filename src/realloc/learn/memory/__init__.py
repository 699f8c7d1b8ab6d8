"""The bounded memory of what teachers said."""

from typing import TYPE_CHECKING

from realloc.base.imports import load_when_used

if TYPE_CHECKING:
    from realloc.learn.memory.buffer import may_stay, remember
    from realloc.learn.memory.config import MoveConfig, ReplayConfig
    from realloc.learn.memory.moves import Labels, label_moves

__all__ = ["Labels", "MoveConfig", "ReplayConfig", "label_moves", "may_stay", "remember"]

__getattr__ = load_when_used(
    __name__,
    {
        "Labels": "moves",
        "MoveConfig": "config",
        "ReplayConfig": "config",
        "label_moves": "moves",
        "may_stay": "buffer",
        "remember": "buffer",
    },
)
