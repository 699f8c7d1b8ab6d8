"""From a model and today's rows to recommendations: Stage III, in batches of bounded memory."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, Integers, edges, total_variation
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.constraints.limits import compile_limits
from realloc.decide.decide import Decided, decide
from realloc.decide.model import DecisionModel, ModelSupport
from realloc.decide.portfolio.pool import (
    Demand,
    Offer,
    Pooled,
    Pools,
    choose_offers,
    demand,
    offer,
)
from realloc.decide.problem import Problem
from realloc.decide.types import Decision
from realloc.logs import Logs
from realloc.model.config import Config
from realloc.model.money import worth_of

PLACES = 300_000  # candidate places held at a time
UNMOVED = 1e-12
# What intervals were calibrated on:
SIMULATED = "simulated worlds"
NOTHING = "nothing"


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of today's rows, ready to be decided."""

    rows: Integers
    problem: Problem
    support: ModelSupport


def recommend_rows(
    model: DecisionModel,
    logs: Logs,
    config: Config,
    constraints: Constraints,
    pools: Pools | None = None,
    progress: Progress = silent,
) -> Decision:
    """Decide on every row of `logs`; only caps over all rows hold all batches at once."""
    if pools is not None or constraints.largest_move_per_day is not None:
        offers = list(offer_rows(model, logs, config, constraints, pools or {}, progress))
        demands = [made.demand for made in offers]
        options = choose_offers(demands, caps_of(config, constraints, pools))
        taken = zip(offers, options, strict=True)
        return join([made.answer(model, logs, config, option) for made, option in taken])
    parts: list[Decision] = []
    for batch in open_batches(model, logs, config, constraints):
        result = decide(batch.problem, config.decision)
        parts.append(answer(model, logs, batch, result, config))
        _report(progress, batch, logs)
    return join(parts)


def _report(progress: Progress, batch: Batch, logs: Logs) -> None:
    progress("decisions", int(batch.rows[-1]) + 1 if len(batch.rows) else 0, len(logs))


def open_batches(
    model: DecisionModel, logs: Logs, config: Config, constraints: Constraints
) -> Iterator[Batch]:
    """Read states once, a batch at a time."""
    x = model.encode(logs)
    start = np.array(logs.shares)
    budget = np.array(logs.budget)
    used = model.used_channels(logs)
    most_edges = min(len(edges(start.shape[1])), config.decision.searching().most_edges)
    size = max(32, PLACES // (2 * (len(config.decision.steps) + 2) * most_edges))
    significant = model.is_significant(config.decision)
    worth = worth_of(logs, config.decision)
    radius = NormalDist().inv_cdf(config.decision.confidence)
    for first in range(0, max(len(logs), 1), size):
        rows = np.arange(first, min(first + size, len(logs)))
        limits = compile_limits(
            constraints,
            logs.schema.channels,
            start[rows],
            budget[rows],
            used[rows],
            config.money_digits,
        )
        support = model.support_at(x[rows])
        terms = model.terms(x[rows], start[rows], config.decision)
        problem = Problem(
            start[rows],
            support,
            limits,
            terms,
            radius,
            significant,
            model.mixes,
            None if worth is None else worth[rows],
        )
        yield Batch(rows, problem, support)


@dataclass(frozen=True, eq=False)
class OfferedBatch:
    """Rows that have made their offers, for a choice over all rows."""

    batch: Batch
    offer: Offer
    demand: Demand

    def answer(
        self, model: DecisionModel, logs: Logs, config: Config, option: Integers
    ) -> Decision:
        """The decisions with the chosen offers."""
        return answer(model, logs, self.batch, self.offer.take(option), config)


def offer_rows(
    model: DecisionModel,
    logs: Logs,
    config: Config,
    constraints: Constraints,
    pools: Pools,
    progress: Progress = silent,
) -> Iterator[OfferedBatch]:
    """Decide on every row and say what else it could do, batch by batch."""
    channels = logs.schema.channels
    days = logs.times.astype("datetime64[D]")
    for batch in open_batches(model, logs, config, constraints):
        decided = decide(batch.problem, config.decision)
        made = offer(batch.problem, decided, channels, pools, config.decision)
        yield OfferedBatch(batch, made, demand(made, days[batch.rows], channels, pools))
        _report(progress, batch, logs)


def take_offers(
    model: DecisionModel,
    logs: Logs,
    config: Config,
    constraints: Constraints,
    kept: list[dict[str, NDArray[Any]]],
    option: Integers,
) -> Decision:
    """The decisions with chosen offers (n,) that were kept as arrays, one set for each batch."""
    parts: list[Decision] = []
    batches = open_batches(model, logs, config, constraints)
    for batch, arrays in zip(batches, kept, strict=True):
        made = Offer.from_arrays(batch.problem, arrays)
        parts.append(answer(model, logs, batch, made.take(option[batch.rows]), config))
    return join(parts)


def caps_of(config: Config, constraints: Constraints, pools: Pools | None) -> Pooled:
    """The caps over all rows."""
    return Pooled(pools or {}, constraints.largest_move_per_day, config.money_digits)


def answer(
    model: DecisionModel, logs: Logs, batch: Batch, decided: Decided, config: Config
) -> Decision:
    """What was decided for a batch, as columns."""
    problem = batch.problem
    rows = np.arange(len(batch.rows))
    end = np.where(decided.moved[:, None], decided.shares, decided.best_end)
    neighbours = batch.support.neighbours(rows, end)
    shift = decided.best_end - problem.start
    best_move = _transfers(logs.schema.channels)[shift.argmin(axis=1), shift.argmax(axis=1)]
    return Decision(
        shares=decided.shares,
        gain=decided.gain,
        gain_lower=decided.gain - problem.radius * decided.sigma,
        support=batch.support.score(rows, problem.start, decided.shares),
        steps=count_transfers(problem.start, decided.shares),
        reason=decided.reason,
        money=problem.limits.round_money(decided.shares),
        further={
            "gain_error": decided.sigma,
            "common_error": np.full(len(rows), problem.common_error),
            **money_columns(problem, decided, config.decision),
            "robustness": problem.robustness(decided.shares, decided.gain),
            "limited_by": decided.binding,
            "best_move": np.where(np.abs(shift).max(axis=1) > 0, best_move, ""),
            "best_move_gain": decided.best_gain,
            "best_move_error": decided.best_sigma,
            "directional_support": neighbours.omega,
            "similar_moves": neighbours.count,
            "similar_rows": model.label_neighbours(neighbours.nearest),
            "calibration": np.full(len(rows), calibration_of(model, config.decision)),
        },
        searches={decided.search_path: len(rows)},
    )


def money_columns(
    problem: Problem, decided: Decided, config: DecisionConfig
) -> dict[str, Floats]:
    """Gains in money, where an outcome has a worth."""
    if problem.worth is None:
        return {}
    lower = decided.gain - problem.radius * decided.sigma
    cost = config.move_cost
    return {
        "worth": problem.worth,
        "money_gain": problem.money(decided.gain, cost, decided.moved),
        "money_gain_lower": problem.money(lower, cost, decided.moved),
    }


@lru_cache(maxsize=32)
def _transfers(channels: tuple[str, ...]) -> NDArray[np.str_]:
    """The names of all transfers (K, K)."""
    return np.array([[f"{giver} → {taker}" for taker in channels] for giver in channels])


def calibration_of(model: DecisionModel, config: DecisionConfig) -> str:
    """What intervals of gains were calibrated on: no log shows true gains."""
    return SIMULATED if model.has_posterior(config) else NOTHING


def count_transfers(start: Floats, end: Floats) -> Integers:
    """How many transfers from one channel to another make the whole move, at least."""
    shift = end - start
    givers = (shift < -UNMOVED).sum(axis=1)
    takers = (shift > UNMOVED).sum(axis=1)
    moved = total_variation(start, end) > UNMOVED
    return np.where(moved, np.maximum(np.maximum(givers, takers), 1), 0)


def join(parts: list[Decision]) -> Decision:
    """Batches in their order."""
    if len(parts) == 1:
        return parts[0]

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    names = ("shares", "gain", "gain_lower", "support", "steps", "reason")
    money = None if parts[0].money is None else column("money")
    further = {
        name: np.concatenate([part.further[name] for part in parts])
        for name in parts[0].further
    }
    searches = Counter[str]()
    for part in parts:
        searches.update(part.searches)
    columns = {name: column(name) for name in names}
    return Decision(**columns, money=money, further=further, searches=dict(searches))
