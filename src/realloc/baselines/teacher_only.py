"""TeacherOnly: the orthogonal teacher of one window, deployed directly.

There is no memory, no student and no uncertainty of gains. With the network surface alone and one
member it is the paper's Teacher-Only; with all surfaces, ReAlloc without its student.
"""

from dataclasses import dataclass, replace

from realloc.base.simplex import Floats
from realloc.baselines.response import ResponsePolicy, States, Task
from realloc.learn.teacher.fit import KernelStart, Teacher
from realloc.learn.teacher.sample import as_tensor
from realloc.model.config import Config
from realloc.model.round import teach


@dataclass(frozen=True)
class TeacherResponse:
    """The mean of a teacher's members."""

    teacher: Teacher

    def values(self, x: States, shares: Floats) -> Floats:
        """At states (n, d) and shares (n, q, K): (n, q)."""
        return self.teacher.values(as_tensor(x), as_tensor(shares)).mean(0).double().numpy()

    def slopes(self, x: States, shares: Floats) -> Floats:
        """P₀∇_p at shares (n, K)."""
        return self.teacher.field(as_tensor(x), as_tensor(shares)).mean(0).double().numpy()


class TeacherOnly(ResponsePolicy):
    """A teacher and a search."""

    def __init__(
        self,
        search: str = "greedy",
        config: Config | None = None,
        surfaces: tuple[str, ...] = ("network",),
        members: int = 1,
    ) -> None:
        config = config or Config()
        teacher = replace(config.teacher, surfaces=surfaces, members=members)
        super().__init__(search, replace(config, teacher=teacher))

    def fit_response(self, task: Task) -> TeacherResponse:
        """Stage I, with the seeds of a first round."""
        config = task.config
        _, teacher = teach(task.window, config, 0, config.seed, start=self.start())
        return TeacherResponse(teacher)

    def start(self) -> KernelStart | None:
        """Where surfaces begin to learn: nowhere."""
        return None
