"""Predict, then optimise: a learned response, searched for the best shares in one of four ways.

global       the best predicted shares anywhere on the simplex: neither support nor a movement budget
constrained  the best predicted point of a lattice of whole percents inside the support and the movement budget
greedy       the paper's trace of best transfers inside the support and the movement budget (local search)
ascent       our search for the best end inside the support and the movement budget

Support, movement budget and steps are those of ReAlloc, so that what differs is the response alone.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, edge_directions, edges, project_tangent
from realloc.base.validation import nearest
from realloc.baselines.fitted import Fitted
from realloc.decide.search.ascent import search_ascent
from realloc.decide.search.greedy import (
    GainFunction,
    SearchConfig,
    SupportFunction,
    gain_of_potential,
    search_greedy,
)
from realloc.decide.types import Decision
from realloc.learn.features.encode import Encoder, fit_encoder
from realloc.learn.support import fit_support, remember_logged
from realloc.learn.window import Window
from realloc.logs import Logs
from realloc.model.config import Config
from realloc.model.recommend import count_transfers, join
from realloc.model.round import draw, open_window

SEARCHES = ("global", "constrained", "greedy", "ascent")
ANYWHERE = SearchConfig(
    steps=(0.01, 0.02, 0.05, 0.1, 0.2, 0.4), max_steps=1, max_length=2.0, max_turns=100
)
PLACES = 400_000  # predicted at a time
LATTICE, LARGEST = 0.01, 5000  # step, and the size above which a lattice is no longer searched
NEAR = 0.02  # of a finite difference
States = NDArray[np.float32]


class Response(Protocol):
    """A learned outcome, up to a function of the state."""

    def values(self, x: States, shares: Floats) -> Floats:
        """At states (n, d) and shares (n, q, K): (n, q)."""
        ...


class SmoothResponse(Response, Protocol):
    """A response with a gradient."""

    def slopes(self, x: States, shares: Floats) -> Floats:
        """∇_p at shares (n, K): (n, K)."""
        ...


@dataclass(frozen=True)
class Task:
    """What a response is learned from: rows with folds by unit, the config and a seed."""

    window: Window
    config: Config
    seed: int


class ResponsePolicy(Fitted):
    """A response and a search."""

    def __init__(self, search: str = "ascent", config: Config | None = None) -> None:
        if search not in SEARCHES:
            raise ConfigError(f"Unknown `search` {search!r}.{nearest(search, SEARCHES)}")
        self.search, self.config = search, config or Config()

    @abstractmethod
    def fit_response(self, task: Task) -> Response:
        """Learn the outcome."""

    def learn(self, logs: Logs) -> None:
        """Encoder, support and folds as ReAlloc has them, and the response."""
        config, seed = self.config, self.config.seed
        self.encoder = self.open_encoder(logs)
        window = open_window(logs, self.encoder, config, seed, None)
        logged = remember_logged(
            None, logs, window.x, 0, config.support.rows, draw(seed, "logged", 0)
        )
        self.support = fit_support(logged, config.support, draw(seed, "support", 0))
        self.response = self.fit_response(Task(window, config, draw(seed, type(self).__name__, 0)))

    def open_encoder(self, logs: Logs) -> Encoder:
        """How states become numbers: learned anew from every log."""
        return fit_encoder(logs, self.config.features)

    def decide(self, logs: Logs) -> Decision:
        """The best predicted end of every row that the search finds."""
        size = max(32, PLACES // 1000)
        batches = np.split(np.arange(len(logs)), range(size, len(logs), size))
        return join([self._decide(logs.take(rows)) for rows in batches])

    def field(self, logs: Logs) -> Floats:
        """The predicted field P₀∇_p at the logged shares, (n, K); by differences where there is no gradient."""
        x, shares = self.encoder.encode(logs).values, np.array(logs.shares)
        slopes = getattr(self.response, "slopes", None)
        return project_tangent(slopes(x, shares)) if slopes else self._differences(x, shares)

    def gain(self, logs: Logs, to: Floats) -> Floats:
        """Predicted gain of going to the shares `to` (n, K): (n,)."""
        found = self.response.values(
            self.encoder.encode(logs).values, np.stack([logs.shares, to], axis=1)
        )
        return found[:, 1] - found[:, 0]

    def _decide(self, logs: Logs) -> Decision:
        x, start, every = (
            self.encoder.encode(logs).values,
            np.array(logs.shares),
            np.arange(len(logs)),
        )
        opened = self.support.at(x)
        ends = self._search(x, start, opened.allowed)
        gain = self.gain_at(x)(every, start, ends[:, None])[:, 0]
        moved = (np.abs(ends - start).max(axis=1) > 1e-12) & (gain > 0)
        ends = np.where(moved[:, None], ends, start)
        return Decision(
            shares=ends,
            gain=gain,
            gain_lower=np.full(len(logs), np.nan),  # these policies know no bound
            support=opened.score(every, start, ends),
            steps=count_transfers(start, ends),
            reason=np.where(moved, "moved", "no_gain"),
        )

    def _search(self, x: States, start: Floats, allowed: SupportFunction) -> Floats:
        gain, settings = self.gain_at(x), self.config.decision.searching()
        if self.search == "global":
            return self.search_anywhere(x, start)
        if self.search == "greedy":
            return search_greedy(start, gain, allowed, settings).shares
        moves = (
            lattice(start.shape[1], LATTICE, settings.max_length)
            if self.search == "constrained"
            else None
        )
        if moves is None:
            return search_ascent(start, gain, allowed, settings).shares
        return search_lattice(start, moves, gain, allowed)

    def search_anywhere(self, x: States, start: Floats) -> Floats:
        """By transfers of every size, without limits: exact enough for responses made of steps."""
        return search_ascent(start, self.gain_at(x), everywhere, ANYWHERE).shares

    def gain_at(self, x: States) -> GainFunction:
        """Predicted gains of moves from states (n, d), for any search."""
        return gain_of_potential(lambda rows, shares: self.response.values(x[rows], shares))

    def _differences(self, x: States, shares: Floats) -> Floats:
        """The field whose edge scores are nearest to differences over NEAR, one-sided at a border."""
        pairs, directions = edges(shares.shape[1]), edge_directions(shares.shape[1])
        room = np.minimum(shares[:, pairs[:, 0]], NEAR)  # what the giving channel has, (n, E)
        ends = shares[:, None] + room[..., None] * directions
        found = self.response.values(x, np.concatenate([shares[:, None], ends], axis=1))
        score = np.where(room > 0, (found[:, 1:] - found[:, :1]) / np.where(room > 0, room, 1), 0.0)
        return score @ np.linalg.pinv(directions).T


def everywhere(rows: NDArray[np.integer[Any]], start: Floats, ends: Floats) -> NDArray[np.bool_]:
    """No support rule at all."""
    return np.ones(ends.shape[:2], dtype=bool)


def lattice(channels: int, step: float, length: float) -> Floats | None:
    """All zero-sum moves in multiples of `step` that transfers of total length `length` reach (√2·δ each), (m, K)."""
    reach = int(length / np.sqrt(2) / step + 1e-9)
    if (2 * reach + 1) ** (channels - 1) > LARGEST:
        return None
    free = np.stack(
        np.meshgrid(*[np.arange(-reach, reach + 1)] * (channels - 1), indexing="ij"), axis=-1
    )
    free = free.reshape(-1, channels - 1)
    moves = np.column_stack([free, -free.sum(axis=1)]) * step
    return moves[np.sqrt(2) * np.abs(moves).sum(axis=1) / 2 <= length + 1e-12]


def search_lattice(
    start: Floats, moves: Floats, gain: GainFunction, allowed: SupportFunction
) -> Floats:
    """The best allowed of `moves` (m, K) from every start, (n, K)."""
    rows = np.arange(len(start))
    ends = start[:, None] + moves
    inside = ends.min(axis=-1) >= 0
    ends = np.where(inside[..., None], ends, start[:, None])
    worth = np.where(allowed(rows, start, ends), gain(rows, start, ends), -np.inf)
    best = worth.argmax(axis=1)
    return np.where(worth[rows, best][:, None] > 0, ends[rows, best], start)
