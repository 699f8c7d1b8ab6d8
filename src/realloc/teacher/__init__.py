"""Stage I: the fast orthogonal teacher."""

from realloc.teacher.fit import SurfaceConfigs, Teacher, TeacherConfig, Window, fit_teacher
from realloc.teacher.gaussian import KernelConfig
from realloc.teacher.network import NetworkConfig

__all__ = [
    "KernelConfig",
    "NetworkConfig",
    "SurfaceConfigs",
    "Teacher",
    "TeacherConfig",
    "Window",
    "fit_teacher",
]
