"""What a model has learned, in a few numbers: explained outcome, evidence, how channels move."""

from dataclasses import dataclass

import numpy as np

from realloc.base.numbers import counted
from realloc.decide.config import DecisionConfig
from realloc.model.last_window import LastWindow
from realloc.model.state import RoundState

STILL = 0.01  # part of the budget; a share that moves less hardly moves


@dataclass(frozen=True)
class ChannelMoves:
    """How far a channel's share moves beyond what the features explain (standard deviation)."""

    channel: str
    spread: float

    @property
    def enough(self) -> bool:
        """Whether there is something to learn from."""
        return self.spread >= STILL


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What was learned from the last window."""

    rows: int
    units: int | None  # None: more than the model remembers
    rounds: int
    outcome: str
    explained: float | None  # part of the outcome's variance, on units that were left out
    levelled: bool  # whether the outcome's size was learned from the features beforehand
    evidence: float  # z of the effect of mixes, on units that were left out
    needed: float
    significant: bool
    channels: tuple[ChannelMoves, ...]

    @property
    def sentence(self) -> str:
        """In one line."""
        names = ", ".join(moves.channel for moves in self.channels)
        return (
            f"fitted on {self._rows}, channels {names}, {counted(self.rounds, 'round')}, "
            f"evidence z = {self.evidence:.1f} ({self.needed:g} needed)"
        )

    def lines(self) -> list[str]:
        """As sentences."""
        explained = "nothing, it never varies"
        if self.explained is not None:
            explained = f"{max(self.explained, 0.0):.0%} of its variance"
        if self.levelled:
            explained = f"its size, and of what is left {explained}"
        verdict = (
            "Enough to move budget" if self.significant else "Too little to move anything"
        )
        return [
            f"Learned from {self._rows} (round {self.rounds}).",
            f"What the features explain of {self.outcome!r}: {explained}.",
            f"Evidence that the mix matters: z = {self.evidence:.1f} on units that were left out "
            f"({self.needed:g} needed). {verdict}.",
            self._moves(),
        ]

    @property
    def still(self) -> tuple[str, ...]:
        """Channels whose shares hardly move."""
        return tuple(moves.channel for moves in self.channels if not moves.enough)

    @property
    def _rows(self) -> str:
        units = "" if self.units is None else f" of {counted(self.units, 'unit')}"
        return f"{counted(self.rows, 'row')}{units}"

    def _moves(self) -> str:
        if not self.still:
            return "The log moves the share of every channel enough to learn from it."
        verb = "moves" if len(self.still) == 1 else "move"
        enough = [moves.channel for moves in self.channels if moves.enough]
        rest = (
            f"{', '.join(enough)} enough to learn from" if enough else "no other moves more"
        )
        return (
            f"In the log {', '.join(self.still)} hardly {verb} (by less than {STILL:.0%} of the "
            f"budget beyond what the features explain); {rest}."
        )


def what_is_known(
    state: RoundState,
    channels: tuple[str, ...],
    config: DecisionConfig,
    window: LastWindow | None,
) -> Knowledge:
    """Of a fitted model; `window`: what it has just learned from, if it has."""
    learned = state.main
    logged = state.support.logged
    complete = state.rounds == 1 and len(logged) < state.support.config.rows
    units = window.units if window else len(logged.used_by[0]) if complete else None
    moved = logged.shares.std(axis=0)
    left = [part or 0.0 for part in learned.nuisances.share_left]
    spread = moved * np.sqrt(np.minimum(left, 1.0))
    return Knowledge(
        rows=learned.nuisances.rows,
        units=units,
        rounds=state.rounds,
        outcome=next(iter(state.outcomes)),
        explained=learned.nuisances.outcome_r2,
        levelled=learned.level is not None,
        evidence=learned.committee.significance,
        needed=config.min_significance,
        significant=state.is_significant(config),
        channels=tuple(
            ChannelMoves(name, float(by)) for name, by in zip(channels, spread, strict=True)
        ),
    )
