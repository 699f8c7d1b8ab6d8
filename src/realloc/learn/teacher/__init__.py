"""Stage I: the fast orthogonal teacher."""

from typing import TYPE_CHECKING

from realloc.base.imports import load_when_used

if TYPE_CHECKING:
    from realloc.learn.teacher.config import (
        FactualConfig,
        KernelConfig,
        NetworkConfig,
        TeacherConfig,
    )
    from realloc.learn.teacher.fit import Start, SurfaceConfigs, Teacher, Window, fit_teacher

__all__ = [
    "FactualConfig",
    "KernelConfig",
    "NetworkConfig",
    "Start",
    "SurfaceConfigs",
    "Teacher",
    "TeacherConfig",
    "Window",
    "fit_teacher",
]

__getattr__ = load_when_used(
    __name__,
    {
        "FactualConfig": "config",
        "KernelConfig": "config",
        "NetworkConfig": "config",
        "Start": "fit",
        "SurfaceConfigs": "fit",
        "Teacher": "fit",
        "TeacherConfig": "config",
        "Window": "fit",
        "fit_teacher": "fit",
    },
)
