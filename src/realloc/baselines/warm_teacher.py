"""WarmTeacher: a teacher that goes on from the last window's weights, without memory of rows."""

from realloc.baselines.teacher_only import TeacherOnly, TeacherResponse
from realloc.learn.features.encode import Encoder
from realloc.learn.teacher.fit import KernelStart
from realloc.learn.teacher.posterior import to_kernel
from realloc.logs import Logs


class WarmTeacher(TeacherOnly):
    """`fit` once for every window, in their order."""

    response: TeacherResponse | None = None
    encoder: Encoder | None = None

    def open_encoder(self, logs: Logs) -> Encoder:
        """That of the first window: weights are about its numbers."""
        return self.encoder or super().open_encoder(logs)

    def start(self) -> KernelStart | None:
        """All that the last teacher knew; its kernel's lengths are in its covariance."""
        if self.response is None:
            return None
        former = self.response.teacher
        kernel = None if former.covariance is None else to_kernel(former.covariance)
        return KernelStart(kernel, former)
