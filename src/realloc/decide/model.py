"""What a decision needs from a model: gains, their uncertainty, slopes, support, neighbours."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Integers, Mask
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import MoveFunction, OutcomeTerm, Rows, SupportAt
from realloc.logs import Logs

States = NDArray[np.float32]


@dataclass(frozen=True)
class Neighbours:
    """Logged actions near m ends: directional support ω, how many are near, and the nearest."""

    omega: Floats  # (m,)
    count: Integers  # (m,)
    nearest: Integers  # (m, k) rows of the memory, nearest first


class GainsAt(Protocol):
    """Gains of one outcome at n states, by an ensemble of M members."""

    def gain(self, rows: Rows, start: Floats, ends: Floats, /) -> Floats:
        """Of moves from starts (a, K) to ends (a, m, K), by every member: (M, a, m)."""
        ...

    def mean_gain(self, rows: Rows, start: Floats, ends: Floats, /) -> Floats:
        """The members' mean of it: (a, m)."""
        ...

    def field(self, rows: Rows, shares: Floats, /) -> Floats:
        """The members' mean slopes at shares (a, K), along moves: (a, K)."""
        ...

    def fields(self, rows: Rows, shares: Floats, /) -> Floats:
        """The slopes of every member: (M, a, K)."""
        ...

    def near(self, start: Floats, radius: float, /) -> MoveFunction | None:
        """A cheap `mean_gain` of moves of at most `radius` from `start` (n, K), if there is one."""
        ...


class GainModel(Protocol):
    """Gains of one outcome: the student, or whatever is deployed in its place."""

    def read(self, x: States, /) -> GainsAt:
        """Read states (n, d) once; any number of moves can then be valued cheaply."""
        ...


class ModelSupport(SupportAt, Protocol):
    """What the support says at n states, and which logged actions speak for an end."""

    def score(self, rows: Rows, start: Floats, end: Floats, /) -> Floats:
        """The score of the worst point of the way start → end, both (a, K): (a,)."""
        ...

    def neighbours(self, rows: Rows, shares: Floats, /) -> Neighbours:
        """Logged actions like the move that ends at shares (a, K)."""
        ...


class DecisionModel(Protocol):
    """Everything a decision asks of a model."""

    @property
    def mixes(self) -> Floats | None:
        """Logged mixes that repeat (m, K), to be tried as ends."""
        ...

    def encode(self, logs: Logs, /) -> States:
        """The states of today's rows: (n, d)."""
        ...

    def terms(
        self, x: States, start: Floats, config: DecisionConfig, /
    ) -> tuple[OutcomeTerm, ...]:
        """Gains, uncertainty and slopes of every outcome at n states and their current shares."""
        ...

    def support_at(self, x: States, /) -> ModelSupport:
        """The support at n states."""
        ...

    def is_significant(self, config: DecisionConfig, /) -> bool:
        """Whether held-out data speaks for the objective's gains at all."""
        ...

    def has_posterior(self, config: DecisionConfig, /) -> bool:
        """Whether σ̂ of every outcome is a posterior, which the bound's radius was chosen for."""
        ...

    def used_channels(self, logs: Logs, /) -> Mask:
        """Which channels each row's unit was ever seen to use: (n, K)."""
        ...

    def label_neighbours(self, nearest: Integers, /) -> NDArray[np.str_]:
        """Name the nearest logged actions: `item7@2026-01-03; item9@2026-01-02`."""
        ...
