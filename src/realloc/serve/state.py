"""What serving knows: the same parts as `realloc.model.round.RoundState` with the same methods, without torch and what only learns."""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats
from realloc.learn.features.encode import Encoder
from realloc.learn.support.support import Support
from realloc.learn.teacher.repeated_mixes import Places
from realloc.logs import Logs
from realloc.serve.doubt import Doubt
from realloc.serve.potential import Potential


@dataclass(frozen=True)
class Evidence:
    """How far held-out units speak for a model."""

    evidence: float  # t


@dataclass(frozen=True)
class Served:
    """What is known about one outcome."""

    student: Potential
    doubt: Doubt | None
    places: Places | None
    weighing: Evidence


@dataclass(frozen=True)
class ServedState:
    """Everything that a decision needs."""

    encoder: Encoder
    outcomes: dict[str, Served]  # the outcome first, then its guardrails
    support: Support
    rounds: int

    @property
    def main(self) -> Served:
        """Of the outcome itself."""
        return next(iter(self.outcomes.values()))

    def field(self, logs: Logs) -> Floats:
        """The members' mean field at the log's own shares: (n, K)."""
        reading = self.main.student.read(self.encoder.encode(logs).values)
        return reading.field(np.arange(len(logs)), np.array(logs.shares))

    def gain(self, logs: Logs, to: Floats) -> Floats:
        """The members' mean gain of going to the shares `to` (n, K): (n,)."""
        rows, start = np.arange(len(logs)), np.array(logs.shares)
        reading = self.main.student.read(self.encoder.encode(logs).values)
        found = reading.mean_gain(rows, start, to[:, None])[:, 0]
        places = self.main.places
        return found if places is None else found + places.gain(start, to[:, None])[:, 0]
