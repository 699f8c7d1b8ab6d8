"""What a model has learned: everything that decides, and what the next round goes on from.

Nothing here imports torch; learning does (`round.py`).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, Integers, Mask
from realloc.base.validation import nearest
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import MoveFunction, OutcomeTerm, Rows, spread
from realloc.decide.gain_std import GainStd
from realloc.decide.model import GainModel, GainsAt, States
from realloc.decide.search.gain_arrays import HasArrays
from realloc.learn.features.encode import Encoder
from realloc.learn.hidden_cause import HiddenCauses
from realloc.learn.level import OutcomeLevel
from realloc.learn.memory.labels import Labels
from realloc.learn.nuisances.diagnostics import Diagnostics
from realloc.learn.support.direction import Direction, fit_direction
from realloc.learn.support.support import StateSupport, Support
from realloc.learn.teacher.committee import CommitteeWeights
from realloc.learn.teacher.covariance import GainCovariance
from realloc.learn.teacher.repeated_mixes import (
    GainBeyondSurface,
    RepeatedMixes,
    StdBeyondSurface,
)
from realloc.learn.tested import GainCorrection
from realloc.logs import Logs

SHOWN = 3  # neighbours named per row
# How far promised gains of a whole batch are off where ρ is known: docs/decisions/0020.
COMMON_ERROR = 0.15


@dataclass(frozen=True)
class Learned:
    """What is known about one outcome."""

    memory: Labels
    student: GainModel
    nuisances: Diagnostics  # of the last window
    committee: CommitteeWeights  # of the last teacher's surfaces
    covariance: GainCovariance | None  # of gains, by the last teacher
    # What repeated mixes of the last window say beyond the student.
    mixes: RepeatedMixes | None = None
    # What student and covariance are relative to, since the first round.
    level: OutcomeLevel | None = None
    # What a cause that nobody recorded could do to gains; of the last window.
    hidden: HiddenCauses | None = None
    # What experiments corrected; the student holds it already.
    tested: GainCorrection | None = None

    @property
    def common_error(self) -> float:
        """How far all gains together may be off, in parts of them."""
        return float(np.hypot(COMMON_ERROR, self.committee.size_error))

    def gain(self, gains: GainsAt) -> MoveFunction:
        """Ĝ: the student's, and between logged mixes what their repeats say beyond it."""
        return _beyond(gains.mean_gain, self.mixes)

    def local_gain(
        self, gains: GainsAt, start: Floats, radius: float
    ) -> MoveFunction | None:
        """The same, cheap to compare ends near `start` (n, K) by."""
        near = gains.near(start, radius)
        return None if near is None else _beyond(near, self.mixes)

    def hidden_offset(self, x: States) -> MoveFunction | None:
        """How far a hidden cause of strength 1 may set gains off."""
        hidden = self.hidden
        if hidden is None:
            return None
        size = np.ones(len(x)) if self.level is None else self.level(x)
        return lambda rows, p, ends: hidden.offset(p, ends) * size[rows, None]

    def sigma(
        self, gains: GainsAt, x: States, start: Floats, uncertainty: str
    ) -> MoveFunction:
        """σ̂: the teacher's posterior where there is one, else the spread of the members."""

        def member_spread(rows: Rows, p: Floats, ends: Floats) -> Floats:
            return spread(gains.gain(rows, p, ends))

        surface: MoveFunction = member_spread
        if uncertainty == "posterior" and self.covariance is not None:
            covariance = self.covariance.covariance(x, start)
            if self.tested is not None:
                size = np.ones(len(x)) if self.level is None else self.level(x)
                own = np.array(self.tested.covariance)
                covariance = covariance + np.square(size)[:, None, None] * own
            surface = GainStd(covariance)
        return surface if self.mixes is None else StdBeyondSurface(surface, self.mixes)


def _beyond(gain: MoveFunction, mixes: RepeatedMixes | None) -> MoveFunction:
    return gain if mixes is None else GainBeyondSurface(gain, mixes)


@dataclass(frozen=True)
class RoundState:
    """Everything that one round hands to the next, and every decision's `DecisionModel`.

    Its size does not grow with the number of rounds.
    """

    encoder: Encoder
    outcomes: dict[str, Learned]  # the outcome first, then its guardrails
    support: Support
    rounds: int

    @property
    def main(self) -> Learned:
        """Of the outcome itself."""
        return next(iter(self.outcomes.values()))

    @property
    def looks_back(self) -> bool:
        """Whether a row's state depends on earlier rows of its unit."""
        return self.encoder.history is not None

    @property
    def mixes(self) -> Floats | None:
        """Logged mixes that repeat (m, K)."""
        return None if self.main.mixes is None else self.main.mixes.shares

    def encode(self, logs: Logs) -> States:
        """States (n, d)."""
        return self.encoder.encode(logs).values

    def field(self, logs: Logs) -> Floats:
        """The student's field at the log's own shares, of every member: (M, n, K)."""
        return self.main.student.read(self.encode(logs)).fields(
            np.arange(len(logs)), logs.shares
        )

    def gain(self, logs: Logs, to: Floats) -> Floats:
        """The gain of going to the shares `to` (n, K), by every member: (M, n)."""
        start = np.array(logs.shares)
        student = self.main.student.read(self.encode(logs))
        gains = student.gain(np.arange(len(logs)), start, to[:, None])[..., 0]
        mixes = self.main.mixes
        return gains if mixes is None else gains + mixes.gain(start, to[:, None])[:, 0]

    def terms(
        self, x: States, start: Floats, config: DecisionConfig
    ) -> tuple[OutcomeTerm, ...]:
        """Gains, uncertainty and slopes of every outcome."""
        objective = self._objective(config)
        terms: list[OutcomeTerm] = []
        for name, learned in self.outcomes.items():
            gains = learned.student.read(x)
            is_main = learned is self.main

            def local(
                near: Floats,
                radius: float,
                learned: Learned = learned,
                gains: GainsAt = gains,
            ) -> MoveFunction | None:
                return learned.local_gain(gains, near, radius)

            terms.append(
                OutcomeTerm(
                    name=name,
                    gain=learned.gain(gains),
                    sigma=learned.sigma(gains, x, start, config.uncertainty),
                    slopes=gains.field,
                    weight=objective.get(name, 0.0),
                    tolerance=None if is_main else config.tolerances.get(name, 0.0),
                    local_gain=local,
                    hidden=learned.hidden_offset(x),
                    network=gains.arrays if isinstance(gains, HasArrays) else None,
                    common_error=(
                        learned.common_error if config.uncertainty == "posterior" else 0.0
                    ),
                )
            )
        return tuple(terms)

    def support_at(self, x: States) -> StateSupport:
        """The support at n states."""
        return self.support.at(x, self.remembered)

    @cached_property
    def remembered(self) -> Direction | None:
        """The index of moves in the memory, where ω is by them."""
        support = self.support
        if support.config.omega != "memory":
            return None
        memory = self.main.memory
        ends = memory.ends.astype(np.float64)
        x = np.repeat(memory.x, ends.shape[1], axis=0)
        places = ends.reshape(len(x), -1)
        return fit_direction(x, places, support.density, support.config.neighbours)

    def is_significant(self, config: DecisionConfig) -> bool:
        """Whether held-out units, or repeated mixes, speak for any outcome of the objective."""
        objective = self._objective(config)
        return any(
            learned.mixes is not None
            or config.min_significance == 0
            or learned.committee.significance >= config.min_significance
            for name, learned in self.outcomes.items()
            if objective.get(name)
        )

    def has_posterior(self, config: DecisionConfig) -> bool:
        """Whether σ̂ of every outcome is the teacher's posterior, as the radius was chosen for."""
        return config.uncertainty == "posterior" and all(
            learned.covariance is not None for learned in self.outcomes.values()
        )

    def used_channels(self, logs: Logs) -> Mask:
        """Which channels each row's unit was ever seen to use, (n, K); today's count."""
        names, used = self.support.logged.used_by
        units = logs.unit_names
        place = np.minimum(np.searchsorted(names, units), len(names) - 1)
        known = np.where((names[place] == units)[:, None], used[place], False)
        return known | (logs.shares > 0)

    def label_neighbours(self, nearest: Integers) -> NDArray[np.str_]:
        """Unit and time of the nearest logged actions."""
        texts = self.support.logged.labels[nearest[:, :SHOWN]].tolist()
        return np.array(["; ".join(row) for row in texts], dtype=np.str_)

    def without_memory(self) -> "RoundState":
        """The same answers without the labelled moves that only the next round needs.

        They stay where ω is by them.
        """
        if self.support.config.omega == "memory":
            return self
        nothing = np.array([], dtype=np.int64)
        outcomes = {
            name: replace(learned, memory=learned.memory.take(nothing))
            for name, learned in self.outcomes.items()
        }
        return replace(self, outcomes=outcomes)

    def _objective(self, config: DecisionConfig) -> dict[str, float]:
        """Weights of the outcomes; by default the outcome alone."""
        for table in ("weights", "tolerances"):
            for name in getattr(config, table):
                if name not in self.outcomes:
                    hint = nearest(name, self.outcomes)
                    raise ConfigError(
                        f"Unknown outcome {name!r} in `{table}` of [decision].{hint}"
                    )
        return dict(config.weights) or {next(iter(self.outcomes)): 1.0}
