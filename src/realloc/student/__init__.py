"""Stage II: the slow student."""

from typing import TYPE_CHECKING

from realloc.lazy import load_when_used

if TYPE_CHECKING:
    from realloc.student.config import StudentConfig
    from realloc.student.distill import distill
    from realloc.student.potential import Potential

__all__ = ["Potential", "StudentConfig", "distill"]

__getattr__ = load_when_used(__name__, {"Potential": "potential", "StudentConfig": "config", "distill": "distill"})
