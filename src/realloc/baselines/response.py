"""Predict, then optimise: a learned response, searched for the best shares in one of four ways.

global       the best predicted shares anywhere on the simplex
constrained  the best predicted point of a lattice of whole percents
greedy       the paper's trace of best transfers (local search)
ascent       our search for the best end

All but the first stay inside the support and the movement budget. Both, and the steps, are those of
ReAlloc, so that what differs is the response alone.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from realloc.base.imports import need
from realloc.base.simplex import Floats, Mask, Rows, edge_directions, edges, project_tangent
from realloc.base.validation import check_known
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
from realloc.learn.periods import without_periods
from realloc.learn.support.logged import remember_logged
from realloc.learn.support.support import fit_support
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
LATTICE = 0.01  # step
LARGEST = 5000  # size above which a lattice is no longer searched
NEAR = 0.02  # of a finite difference
States = NDArray[np.float32]


class LearnedResponse(Protocol):
    """A learned outcome, up to a function of the state."""

    def values(self, x: States, shares: Floats) -> Floats:
        """At states (n, d) and shares (n, q, K): (n, q)."""
        ...


@runtime_checkable
class SmoothResponse(LearnedResponse, Protocol):
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

    # Of the extra `peers`, where the response needs one.
    package: ClassVar[str | None] = None
    # Of the response, where it has any.
    defaults: Any = None
    settings: Any

    def __init__(
        self, search: str = "ascent", config: Config | None = None, settings: Any = None
    ) -> None:
        check_known("`search`", search, SEARCHES, "the baseline")
        self.search = search
        self.config = config or Config()
        self.settings = settings or self.defaults

    @abstractmethod
    def fit_response(self, task: Task) -> LearnedResponse:
        """Learn the outcome."""

    def learn(self, logs: Logs) -> None:
        """Encoder, support and folds as ReAlloc has them, and the response."""
        if self.package is not None:
            need(self.package, "peers")  # before the support, which takes a while
        config = self.config
        seed = config.seed
        self.encoder = self.open_encoder(logs)
        window = open_window(logs, self.encoder, config, seed, None)
        if config.nuisances.takes_off_periods:
            window = without_periods(window)
        logged_seed = draw(seed, "logged", 0)
        logged = remember_logged(None, logs, window.x, 0, config.support.rows, logged_seed)
        self.support = fit_support(logged, config.support, draw(seed, "support", 0))
        self.response = self.fit_response(
            Task(window, config, draw(seed, type(self).__name__, 0))
        )

    def open_encoder(self, logs: Logs) -> Encoder:
        """How states become numbers: learned anew from every log."""
        return fit_encoder(logs, self.config.features)

    def decide(self, logs: Logs) -> Decision:
        """The best predicted end of every row that the search finds."""
        size = max(32, PLACES // 1000)
        batches = np.split(np.arange(len(logs)), range(size, len(logs), size))
        return join([self._decide(logs.take(rows)) for rows in batches])

    def field(self, logs: Logs) -> Floats:
        """The predicted field P₀∇_p at the logged shares, (n, K), by differences if need be."""
        x = self.encoder.encode(logs).values
        shares = np.array(logs.shares)
        if isinstance(self.response, SmoothResponse):
            return project_tangent(self.response.slopes(x, shares))
        # The field whose edge scores are nearest to finite differences, one-sided at borders.
        source = edges(shares.shape[1])[:, 0]
        directions = edge_directions(shares.shape[1])
        room = np.minimum(shares[:, source], NEAR)  # (n, E)
        ends = shares[:, None] + room[..., None] * directions
        values = self.response.values(x, np.concatenate([shares[:, None], ends], axis=1))
        rise = values[:, 1:] - values[:, :1]
        score = np.where(room > 0, rise / np.where(room > 0, room, 1), 0.0)
        return score @ np.linalg.pinv(directions).T

    def gain(self, logs: Logs, to: Floats) -> Floats:
        """Predicted gain of going to the shares `to` (n, K): (n,)."""
        x = self.encoder.encode(logs).values
        values = self.response.values(x, np.stack([logs.shares, to], axis=1))
        return values[:, 1] - values[:, 0]

    def _decide(self, logs: Logs) -> Decision:
        x = self.encoder.encode(logs).values
        start = np.array(logs.shares)
        every = np.arange(len(logs))
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
        if self.search == "global":
            return self.search_anywhere(x, start)
        gain = self.gain_at(x)
        settings = self.config.decision.searching()
        if self.search == "greedy":
            return search_greedy(start, gain, allowed, settings).shares
        if self.search == "constrained":
            moves = lattice(start.shape[1], LATTICE, settings.max_length)
            if moves is not None:
                return search_lattice(start, moves, gain, allowed)
        return search_ascent(start, gain, allowed, settings).shares

    def search_anywhere(self, x: States, start: Floats) -> Floats:
        """By transfers of every size, without limits: exact enough for responses made of steps."""
        return search_ascent(start, self.gain_at(x), everywhere, ANYWHERE).shares

    def gain_at(self, x: States) -> GainFunction:
        """Predicted gains of moves from states (n, d), for any search."""
        return gain_of_potential(lambda rows, shares: self.response.values(x[rows], shares))


def everywhere(rows: Rows, start: Floats, ends: Floats) -> Mask:
    """No support rule at all."""
    return np.ones(ends.shape[:2], dtype=bool)


def lattice(channels: int, step: float, length: float) -> Floats | None:
    """All zero-sum moves (m, K) in multiples of `step`, of at most `length` (√2·δ a transfer)."""
    reach = int(length / np.sqrt(2) / step + 1e-9)
    if (2 * reach + 1) ** (channels - 1) > LARGEST:
        return None
    axes = [np.arange(-reach, reach + 1)] * (channels - 1)
    free = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, channels - 1)
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
