"""ReAlloc with one part removed: without orthogonalization, student or support."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats
from realloc.learn.memory.moves import label_moves
from realloc.learn.support.direction import Direction
from realloc.learn.support.support import Mask, Rows, StateSupport, Support
from realloc.learn.teacher.fit import Teacher
from realloc.learn.teacher.sample import as_tensor
from realloc.learn.window import Window
from realloc.logs import Logs
from realloc.model.config import Config
from realloc.model.experiments import Experiments
from realloc.model.realloc import ReAlloc
from realloc.model.round import for_size, of_all, repeated_mixes, run_round, teach
from realloc.model.state import Learned, RoundState

AT_ONCE = 256  # rows whose candidates a committee values at a time
States = NDArray[np.float32]


class QuietReAlloc(ReAlloc):
    """ReAlloc that shows no progress."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config, quiet=True)


class WithoutOrthogonalization(QuietReAlloc):
    """The teacher is the factual surface alone: outcomes, not residuals; all else stays."""

    def __init__(self, config: Config | None = None) -> None:
        config = config or Config()
        factual = replace(config.teacher, surfaces=("factual",))
        super().__init__(replace(config, teacher=factual))


class WithoutStudent(QuietReAlloc):
    """The teacher's committee decides itself: its uncertainty, the support and the search stay.

    Every window begins anew.
    """

    def _round(
        self,
        former: RoundState | None,
        window: Logs,
        weights: Floats | None,
        progress: Progress | None,
        seed: int | None = None,
    ) -> RoundState:
        window.check().require()
        seed = self.config.seed if seed is None else seed
        return run_round(
            None, window, self.config, seed, weights, progress or silent, learn_directly
        )


def learn_directly(
    former: Learned | None,
    rows: Window,
    config: Config,
    rounds: int,
    seed: int,
    progress: Progress,
) -> Learned:
    """`rounds.learn` with Stage I alone: what is deployed is the teacher.

    Its memory of labels is one row that nothing asks.
    """
    surfaces = config.teacher.surfaces
    config = for_size(config, len(rows.x))
    nuisances, teacher = teach(rows, config, rounds, seed, progress)
    deployed = Deployed(teacher)
    return Learned(
        memory=label_moves(
            teacher,
            rows,
            config.moves,
            rounds,
            seed,
            stays=lambda rank: np.argsort(rank)[:1],
        ),
        student=deployed,
        nuisances=nuisances.diagnostics,
        committee=of_all(teacher.weighing, config.teacher.surfaces, surfaces),
        covariance=teacher.covariance,
        mixes=repeated_mixes(deployed, rows, nuisances),
    )


@dataclass(frozen=True)
class Deployed:
    """A teacher that is asked as a student is."""

    teacher: Teacher

    def read(self, x: States) -> "DeployedReading":
        """Hold states (n, d)."""
        return DeployedReading(self.teacher, x)


@dataclass(frozen=True)
class DeployedReading:
    """The teacher at n states."""

    teacher: Teacher
    x: States

    def gain(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """μ(end) − μ(start) of every member: starts (a, K), ends (a, m, K) → (M, a, m)."""
        both = np.concatenate([start[:, None], ends], axis=1)
        parts = [
            self.teacher.values(
                as_tensor(self.x[rows[first : first + AT_ONCE]]),
                as_tensor(both[first : first + AT_ONCE]),
            )
            for first in range(0, max(len(rows), 1), AT_ONCE)
        ]
        values = torch.cat(parts, dim=1).double().numpy()
        return values[..., 1:] - values[..., :1]

    def mean_gain(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """The members' mean of it, (a, m)."""
        return self.gain(rows, start, ends).mean(axis=0)

    def field(self, rows: Rows, shares: Floats) -> Floats:
        """The members' mean field at shares (a, K)."""
        return self.fields(rows, shares).mean(axis=0)

    def fields(self, rows: Rows, shares: Floats) -> Floats:
        """The field of every member, (M, a, K)."""
        return (
            self.teacher.field(as_tensor(self.x[rows]), as_tensor(shares)).double().numpy()
        )

    def near(self, start: Floats, radius: float) -> None:
        """No polynomial is near a committee: searches ask it itself."""
        return


class WithoutSupport(QuietReAlloc):
    """ReAlloc that may go anywhere inside its movement budget."""

    def fit(
        self,
        logs: Any,
        weights: Floats | None = None,
        progress: Progress | None = None,
        experiments: Experiments | None = None,
    ) -> Self:
        """Fit as ReAlloc, then forget where the logs hold evidence."""
        super().fit(logs, weights, progress, experiments)
        self.state = replace(self.fitted, support=forget(self.fitted.support))
        return self


def forget(support: Support) -> "Anywhere":
    """The same support, to which every place belongs."""
    return Anywhere(support.logged, support.density, support.ranks, support.config)


class Anywhere(Support):
    """A support that holds every place; neighbours and scores are still told."""

    def at(
        self, x: NDArray[np.float32], remembered: Direction | None = None
    ) -> "OpenAnywhere":
        """The support of n states."""
        opened = super().at(x, remembered)
        return OpenAnywhere(opened.support, opened.border, opened.limit, remembered)


class OpenAnywhere(StateSupport):
    """Everything is inside."""

    def region(self) -> None:
        """No border that numbers could tell."""
        return

    def inside(self, rows: Rows, shares: Floats, start: Floats | None = None) -> Mask:
        """Always."""
        return np.ones(shares.shape[:2], dtype=bool)

    def allowed(self, rows: Rows, start: Floats, ends: Floats) -> Mask:
        """Always."""
        return np.ones(ends.shape[:2], dtype=bool)
