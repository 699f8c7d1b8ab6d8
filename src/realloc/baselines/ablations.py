"""ReAlloc with one part taken out: without orthogonalization, without support. (Without the student: `TeacherOnly`.)"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from realloc.config import Config
from realloc.progress import Progress
from realloc.reallocation import ReAlloc
from realloc.simplex import Floats
from realloc.support.support import Mask, Opened, Rows, Support


class WithoutOrthogonalization(ReAlloc):
    """The teacher is the factual surface alone: outcomes as they are, no residuals; all else stays."""

    def __init__(self, config: Config | None = None) -> None:
        config = config or Config()
        super().__init__(replace(config, teacher=replace(config.teacher, surfaces=("factual",))), quiet=True)


class WithoutSupport(ReAlloc):
    """ReAlloc that may go anywhere inside its movement budget."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config, quiet=True)

    def fit(self, logs: Any, weights: Floats | None = None, progress: Progress | None = None) -> Self:
        """Fit as ReAlloc, then forget where the logs hold evidence."""
        super().fit(logs, weights, progress)
        self.state = replace(self.fitted, support=forget(self.fitted.support))
        return self


def forget(support: Support) -> "Anywhere":
    """The same support, to which every place belongs."""
    return Anywhere(support.logged, support.density, support.ladder, support.config)


class Anywhere(Support):
    """A support that holds every place; neighbours and scores are still told."""

    def at(self, x: NDArray[np.float32]) -> "OpenAnywhere":
        """The support of n states."""
        opened = super().at(x)
        return OpenAnywhere(opened.support, opened.border, opened.limit)


class OpenAnywhere(Opened):
    """Everything is inside."""

    def region(self) -> None:
        """No border that numbers could tell."""
        return

    def inside(self, rows: Rows, shares: Floats) -> Mask:
        """Always."""
        return np.ones(shares.shape[:2], dtype=bool)

    def allowed(self, rows: Rows, start: Floats, ends: Floats) -> Mask:
        """Always."""
        return np.ones(ends.shape[:2], dtype=bool)
