"""Stage II: the slow student."""

from typing import TYPE_CHECKING

from realloc.base.imports import load_when_used

if TYPE_CHECKING:
    from realloc.learn.student.config import StudentConfig
    from realloc.learn.student.potential import Potential

__all__ = ["Potential", "StudentConfig"]

# `distill` is not among them: a function with its module's name would hide behind the module once that is imported.
__getattr__ = load_when_used(__name__, {"Potential": "potential", "StudentConfig": "config"})
