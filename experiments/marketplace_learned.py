"""The marketplace's log, its split into learning and evaluation rows, and eight methods that
learned the same rows.

Learners see days before `split` of routine items and of half of the items under exploration, in the
log's own proportions: a team that pays for exploration learns from it. The other half of those
items is never learned from; it is what values rest on. What a method answers about evaluation rows
is kept in $REALLOC_MODELS, so that tables can be made again without learning.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fitted as kept
import realloc
from realloc.base.simplex import total_variation
from realloc.baselines import BASELINES
from realloc.baselines.ablations import forget
from realloc.baselines.response import ResponsePolicy
from realloc.decide.problem import allowed_by, score_ends
from realloc.decide.types import MOVED
from realloc.evaluate.events import Events, at_previous, find_events
from realloc.evaluate.randomized import RandomizedMoves, randomized_moves
from realloc.learn.support.support import Support
from realloc.logs import Logs
from realloc.model.recommend import open_batches, recommend_rows
from realloc.world.platform import Marketplace

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
Answers = dict[str, NDArray[Any]]
METHODS = {
    "realloc": "**ReAlloc**",
    "wide": "ReAlloc, level .98",
    "without_support": "ReAlloc w/o support",
    "s_nn_local": "PTO-Local (S-NN)",
    "teacher_only": "Teacher-Only",
    "context_only": "Context-Only",
    "vcnet": "VCNet",
    "giks": "GIKS",
    "additive_roi": "AdditiveROI",
}
OURS = ("realloc", "wide", "without_support")
WIDE = 0.98  # part of the logged moves inside the support of `wide`; chosen on market 201
FURTHEST_LEGACY = 0.1  # of the budget: the longest step of the legacy policy's menu
BATCH = 10_000  # rows whose gains are asked at a time
FIRST_SET = 1000  # sample seed of the first fresh set of explored items


@dataclass(frozen=True)
class Size:
    """How large the log is and what of it is learned."""

    items: int = 20_000
    days: int = 60
    split: int = 45  # first day of evaluation
    rows: int = 40_000  # learned by every method, whole items
    sets: int = 20  # further sets of explored items that no log holds: how values spread
    set_items: int = 1_000
    test_items: int = 60_000  # of the A/B test, the log's items among them
    world: int = 1  # seed of the market, and of every learner
    channels: int = 2  # the paper's: advertising and benefits

    @property
    def whole(self) -> bool:
        """Whether there is enough to learn from; else all learners are hurried."""
        return self.rows >= 2000

    @property
    def name(self) -> str:
        """Of the folder that keeps what was learned."""
        return f"market-{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"


FULL = Size()
QUICK = Size(items=400, days=24, split=17, rows=680, sets=2, set_items=150, test_items=400)


def chosen(given: Any, name: str) -> tuple[Size, str]:
    """The size that was asked for, and the study's name: one for every size."""
    if given.quick:
        return QUICK, f"{name}_quick"
    return replace(
        FULL, rows=given.rows
    ), name if given.rows == FULL.rows else f"{name}_{given.rows}"


@dataclass(frozen=True, eq=False)
class Traffic:
    """A log of the market and who may do what with its rows."""

    world: Marketplace
    size: Size
    logs: Logs

    @cached_property
    def events(self) -> Events:
        return find_events(self.logs)

    @cached_property
    def day(self) -> NDArray[np.int64]:
        return (
            self.logs.times.astype("datetime64[D]")
            - np.datetime64(self.world.parameters.first_day)
        ).astype(int)

    @cached_property
    def explored(self) -> Mask:
        return self.logs.table["exploration"].to_numpy()

    @cached_property
    def held_out(self) -> Mask:
        """Rows of every other explored item: their draws value policies and teach nobody."""
        items = np.unique(self.logs.unit_codes[self.explored])
        return np.isin(self.logs.unit_codes, items[::2])

    @cached_property
    def movable(self) -> Mask:
        """Rows of items with every channel opened: the others can never move, so that they are no
        controls either.
        """
        opened = [
            self.logs.table[f"open_{name}"].to_numpy() for name in self.logs.schema.channels
        ]
        return np.stack(opened, axis=1).all(axis=1)

    @property
    def late(self) -> Mask:
        return self.day >= self.size.split

    @property
    def start_date(self) -> str:
        """The first date of evaluation."""
        return str(np.datetime64(self.world.parameters.first_day) + self.size.split)

    def to_learn(self) -> Logs:
        """The same rows for every method: all early days of the first items that may be learned
        from.
        """
        codes = self.logs.unit_codes
        items = np.unique(codes[~self.held_out])[: self.size.rows // self.size.split]
        return bare(self.logs.take(~self.late & np.isin(codes, items)))

    def moved_rows(self) -> Rows:
        """Late routine rows that the legacy policy moved."""
        return np.flatnonzero(self.late & ~self.explored & self.events.is_event)

    def today(self) -> Rows:
        """All routine items on the first day of evaluation: what a launch would be asked about."""
        return np.flatnonzero((self.day == self.size.split) & ~self.explored)

    def drawn_rows(self) -> Rows:
        """Late rows of held-out explored items."""
        return np.flatnonzero(self.late & self.held_out)

    def before(self, rows: Rows) -> Logs:
        """Rows as they stood before the decision, at yesterday's shares."""
        return bare(at_previous(self.logs, self.events, rows))

    def gains(self, rows: Rows, ends: Floats) -> Floats:
        """The true gain in orders of going from yesterday's shares to `ends` (n, K)."""
        start = self.logs.shares[self.events.previous[rows]]
        return self.world.gain(self.world.state(self.logs.take(rows)), start, ends)[
            "orders"
        ]


def bare(logs: Logs) -> Logs:
    """Orders alone: no guardrails to be learned, and no propensities."""
    return replace(logs, schema=replace(logs.schema, guardrails=(), propensity=None))


@cache
def open_traffic(size: Size) -> Traffic:
    """The log that all tables are about."""
    world = Marketplace(seed=size.world, channels=size.channels)
    return Traffic(world, size, world.sample(items=size.items, days=size.days, seed=0))


@lru_cache(maxsize=2)
def open_set(size: Size, number: int) -> Traffic:
    """Set 0 is the log itself; every other one is of items of the same market, all of them
    explored.
    """
    if number == 0:
        return open_traffic(size)
    usual = Marketplace(seed=size.world, channels=size.channels).parameters
    parameters = replace(usual, items=replace(usual.items, explored=1.0))
    world = Marketplace(seed=size.world, channels=size.channels, parameters=parameters)
    # Twice as many: as in the log, every other one is used.
    logs = world.sample(items=2 * size.set_items, days=size.days, seed=FIRST_SET + number)
    return Traffic(world, size, logs)


def draws_of(traffic: Traffic) -> RandomizedMoves:
    """The randomized rows of a set, as evaluators take them."""
    rows = traffic.drawn_rows()
    part = traffic.logs.take(rows)
    arms = traffic.world.arms(part)
    return randomized_moves(
        part,
        traffic.logs.shares[traffic.events.previous[rows]],
        arms.moves,
        arms.probabilities,
    )[0]


class Ours:
    """ReAlloc with its support, with a wider one or without."""

    def __init__(self, model: realloc.ReAlloc, kind: str) -> None:
        learned = model.fitted.support
        wide = replace(learned, config=replace(learned.config, level=WIDE))
        self.judge: Support = wide if kind == "wide" else learned
        self.config = model.config
        self.state = replace(
            model.fitted,
            support=forget(learned) if kind == "without_support" else self.judge,
        )
        self.encoder = self.state.encoder

    def gain(self, asked: Logs, to: Floats) -> Floats:
        return self.state.gain(asked, to).mean(axis=0)

    def ends(self, asked: Logs) -> tuple[Floats, Floats]:
        """Recommended shares and promised gains."""
        found = recommend_rows(self.state, asked, self.config, self.config.constraints)
        moved = np.isin(found.reason, MOVED)
        return np.where(moved[:, None], found.shares, asked.shares), np.where(
            moved, found.gain, 0.0
        )

    def pick(self, asked: Logs, moves: Floats, possible: Mask) -> NDArray[np.int64]:
        """The arm with the largest conservative gain among those that support and threshold let
        through; else hold.
        """
        picked = np.zeros(len(asked), dtype=np.int64)
        decision = self.config.decision
        for batch in open_batches(self.state, asked, self.config, self.config.constraints):
            case, every = batch.problem, np.arange(len(batch.rows))
            if not case.significant:
                continue
            ends = reach(case.start, moves, possible[batch.rows])
            allowed = allowed_by(case)(every, case.start, ends) & possible[batch.rows]
            score = np.where(
                allowed, score_ends(case, every, case.start, ends, decision), -np.inf
            )
            score[:, 0] = decision.threshold  # holding is always possible
            picked[batch.rows] = score.argmax(axis=1)
        return picked


class Theirs:
    """A baseline that goes where its predicted gain is largest, without support or penalty."""

    def __init__(self, policy: ResponsePolicy) -> None:
        self.policy, self.judge, self.encoder = policy, policy.support, policy.encoder
        policy.support = forget(policy.support)

    def gain(self, asked: Logs, to: Floats) -> Floats:
        return self.policy.gain(asked, to)

    def ends(self, asked: Logs) -> tuple[Floats, Floats]:
        """Recommended shares and promised gains."""
        found = self.policy.decide(asked)
        return found.shares, np.where(found.reason == "moved", found.gain, 0.0)

    def pick(self, asked: Logs, moves: Floats, possible: Mask) -> NDArray[np.int64]:
        """The arm with the largest predicted gain; holding gains 0."""
        start = np.array(asked.shares)
        gain = self.policy.gain_at(self.encoder.encode(asked).values)
        score = np.where(
            possible,
            gain(np.arange(len(asked)), start, reach(start, moves, possible)),
            -np.inf,
        )
        score[:, 0] = 0.0
        return score.argmax(axis=1)


def reach(start: Floats, moves: Floats, possible: Mask) -> Floats:
    """Where every arm leads (n, M, K); an arm that a row cannot get leads nowhere."""
    return np.maximum(start[:, None] + np.where(possible[..., None], moves, 0.0), 0.0)


def learn(method: str, size: Size, config: realloc.Config) -> Ours | Theirs:
    """Fit on the common rows; all variants of ReAlloc are one fit."""
    logs = open_traffic(size).to_learn()
    if method in OURS:
        return Ours(learned_model(size, config), method)
    policy = BASELINES[method](config=config)
    if not size.whole:
        hurry(policy)
    policy.fit(logs)
    return Theirs(policy)  # pyright: ignore[reportArgumentType]  every other method here is a response with a search


def hurry(policy: Any) -> None:
    """One epoch of one network: enough to see that it runs."""
    for name in ("settings", "own"):
        if hasattr(policy, name):
            setattr(
                policy,
                name,
                replace(getattr(policy, name), members=1, epochs=1, least_steps=0),
            )


def learned_model(size: Size, config: realloc.Config) -> realloc.ReAlloc:
    """ReAlloc, learned once and kept."""
    path = folder(size) / "realloc"
    if path.exists():
        model = realloc.load(path)
        model.config = config
        return model
    model = realloc.ReAlloc(config, quiet=True).fit(open_traffic(size).to_learn())
    model.save(path)
    return model


def folder(size: Size) -> Path:
    """Where answers are kept: apart for every code that learns."""
    path = kept.kept_in() / kept.digest() / size.name
    path.mkdir(parents=True, exist_ok=True)
    return path


def answers(method: str, size: Size, make: Callable[[Size], realloc.Config]) -> Answers:
    """Everything that tables ask of a method, learned where it is not kept yet."""
    path = folder(size) / f"{method}.npz"
    if not path.exists():
        found = ask(learn(method, size, make(size)), size)
        aside = path.with_suffix(".part.npz")
        np.savez_compressed(aside, **found)  # pyright: ignore[reportArgumentType]  its stub takes a flag for an array
        aside.replace(path)
    with np.load(path) as stored:
        return dict(stored)


def ask(method: Ours | Theirs, size: Size) -> Answers:
    """Gains of legacy moves, own decisions on the first day, and the arm picked on every randomized
    row.
    """
    traffic = open_traffic(size)
    moved, today = traffic.moved_rows(), traffic.today()
    parts = np.array_split(moved, len(moved) // BATCH + 1)
    found: Answers = {
        "gain": np.concatenate(
            [method.gain(traffic.before(part), traffic.logs.shares[part]) for part in parts]
        )
    }
    asked = traffic.before(today)
    ends, promised = method.ends(asked)
    opened = method.judge.at(method.encoder.encode(asked).values)
    found |= {"ends": ends, "promised": promised}
    found["supported"] = opened.allowed(
        np.arange(len(today)), np.array(asked.shares), ends[:, None]
    )[:, 0]
    for number in range(size.sets + 1):
        part = open_set(size, number)
        rows = draws_of(part)
        found[f"arm_{number}"] = method.pick(
            part.before(part.drawn_rows()), rows.moves, rows.probabilities > 0
        )
    return found


def in_reach_of_legacy(traffic: Traffic, ends: Floats) -> Mask:
    """The true support of today's rows: what the legacy policy could have done in one day, (n,)."""
    rows = traffic.today()
    start, names = (
        traffic.logs.shares[traffic.events.previous[rows]],
        traffic.logs.schema.channels,
    )
    opened = np.stack(
        [traffic.logs.table[f"open_{name}"].to_numpy()[rows] for name in names], axis=1
    )
    near = total_variation(ends, start) <= FURTHEST_LEGACY + 1e-9
    return near & ~((ends > 1e-12) & ~opened).any(axis=1)
