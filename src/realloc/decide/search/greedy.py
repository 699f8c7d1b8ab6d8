"""Greedy local search: take the best allowed transfer (k → l, δ) until nothing gains.

The gain and the support rule are arguments, so the oracle and any learned policy search in exactly
the same way.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, Integers, Mask, Rows, edge_directions

# (rows of the batch, current shares (a, K), candidates (a, C, K)) → gains (a, C)
GainFunction = Callable[[Rows, Floats, Floats], Floats]
# (rows of the batch, starts (a, K), candidates (a, C, K)) → allowed (a, C)
SupportFunction = Callable[[Rows, Floats, Floats], Mask]

SLACK = 1e-12  # float error of summed steps: neither a longer way nor a share below 0 or above it


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Candidate steps and movement budget."""

    steps: tuple[float, ...]
    max_steps: int
    max_length: float  # Euclidean length of the whole trace; one transfer of δ is √2·δ long
    threshold: float = 0.0  # smallest gain of a step worth taking
    max_turns: int = 40  # of the ascent
    most_edges: int = (
        30  # transfers the ascent tries per turn: the steepest, if there are more
    )

    def __post_init__(self) -> None:
        if not self.steps or min(self.steps) <= 0:
            raise ConfigError(f"Expected steps > 0, got {self.steps}.")
        if self.max_steps < 0 or self.max_length < 0:
            raise ConfigError(
                "Expected max_steps and max_length >= 0, "
                f"got {self.max_steps} and {self.max_length}."
            )


@dataclass(frozen=True, eq=False)
class Trace:
    """Where a search went."""

    points: Floats  # (n, R+1, K), the last point repeated after the search stopped
    steps: Integers  # (n,) accepted transfers
    length: Floats  # (n,) Euclidean length of the trace
    gain: Floats  # (n,) sum of the gains that were promised

    @property
    def shares(self) -> Floats:
        """The final shares (n, K)."""
        return self.points[:, -1]


def transfers(channels: int, steps: tuple[float, ...]) -> tuple[Floats, Floats]:
    """All moves δ(e_l − e_k), (C, K), and their lengths √2·δ, (C,)."""
    sizes = np.asarray(steps, dtype=np.float64)
    moves = sizes[:, None, None] * edge_directions(channels)
    return moves.reshape(-1, channels), np.sqrt(2) * np.repeat(
        sizes, channels * (channels - 1)
    )


def search_greedy(
    start: Floats, gain: GainFunction, allowed: SupportFunction, config: SearchConfig
) -> Trace:
    """Search from `start` (n, K); `allowed` judges ways from the start, not from the last step."""
    n, K = start.shape
    moves, lengths = transfers(K, config.steps)
    points = np.repeat(start[:, None, :], config.max_steps + 1, axis=1)
    steps = np.zeros(n, np.int64)
    length = np.zeros(n)
    promised = np.zeros(n)
    active = np.arange(n)
    for r in range(config.max_steps):
        shares = points[active, r]
        candidates = shares[:, None, :] + moves
        possible = candidates.min(axis=-1) >= -SLACK
        possible &= length[active, None] + lengths <= config.max_length + SLACK
        # A drained channel holds exactly nothing.
        inside = np.where(candidates > SLACK, candidates, 0.0)
        possible &= allowed(active, start[active], inside)
        score = np.where(possible, gain(active, shares, inside), -np.inf)
        best = score.argmax(axis=1)
        top = score[np.arange(len(active)), best]
        going = top > config.threshold
        active = active[going]
        best = best[going]
        if not len(active):
            break
        points[active, r + 1 :] = inside[going, best][:, None, :]
        steps[active] += 1
        length[active] += lengths[best]
        promised[active] += top[going]
    return Trace(points, steps, length, promised)


def gain_of_potential(potential: Callable[[Rows, Floats], Floats]) -> GainFunction:
    """Gains of a potential (rows, shares (a, m, K)) → (a, m): differences to the row's shares."""

    def gain(rows: Rows, shares: Floats, candidates: Floats) -> Floats:
        values = potential(rows, np.concatenate([shares[:, None, :], candidates], axis=1))
        return values[:, 1:] - values[:, :1]

    return gain
