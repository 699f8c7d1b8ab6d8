"""Stage II: the slow student."""

from realloc.student.distill import StudentConfig, distill
from realloc.student.potential import Potential

__all__ = ["Potential", "StudentConfig", "distill"]
