"""The bounded memory of what teachers said."""

from realloc.replay.buffer import ReplayConfig, remember
from realloc.replay.moves import Labels, MoveConfig, label_moves

__all__ = ["Labels", "MoveConfig", "ReplayConfig", "label_moves", "remember"]
