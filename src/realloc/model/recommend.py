"""From a learned state and today's rows to recommendations: Stage III of Algorithm 1, in batches of bounded memory."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, edges, total_variation
from realloc.base.validation import nearest
from realloc.decide.conservative import MoveFunction, OutcomeTerm, spread
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.constraints.limits import compile_limits
from realloc.decide.decide import Decided, decide
from realloc.decide.gain_std import GainStd
from realloc.decide.portfolio.pool import Pooled, Pools, offer, share_out
from realloc.decide.problem import Problem
from realloc.decide.types import Decision
from realloc.logs import Logs
from realloc.model.config import Config

if TYPE_CHECKING:  # serving decides here too, without torch: what it hands in has the same methods
    from realloc.learn.student.potential import Reading
    from realloc.learn.support.support import Opened
    from realloc.model.round import Learned, RoundState

PLACES = 300_000  # candidate places held at a time
SHOWN = 3  # neighbours named per row
DROPPED, DRAWS = 0.1, 8  # of Monte-Carlo dropout


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of today's rows, ready to be decided."""

    rows: NDArray[np.int64]
    case: Problem
    opened: "Opened"
    posterior: bool  # whether σ̂ of every outcome is the teacher's posterior, for which the radius was chosen


def recommend_rows(
    state: "RoundState",
    logs: Logs,
    config: Config,
    constraints: Constraints,
    pools: Pools | None = None,
    progress: Progress = silent,
) -> Decision:
    """Decide on every row of `logs`; only caps over all rows hold all batches at once."""
    check_names(state, config)
    together = pools is not None or constraints.largest_move_per_day is not None
    parts: list[Decision] = []
    held: list[tuple[Batch, Decided]] = []
    for batch in open_batches(state, logs, config, constraints):
        verdict = decide(batch.case, config.decision)
        if together:
            held.append((batch, verdict))
        else:
            parts.append(answer(state, logs, batch, verdict))
        progress("decisions", int(batch.rows[-1]) + 1 if len(batch.rows) else 0, len(logs))
    if together:
        batches, verdicts = [batch for batch, _ in held], [verdict for _, verdict in held]
        verdicts = pool(batches, verdicts, logs, config, constraints, pools or {})
        parts = [
            answer(state, logs, batch, verdict)
            for batch, verdict in zip(batches, verdicts, strict=True)
        ]
    return join(parts)


def check_names(state: "RoundState", config: Config) -> None:
    """Weights and tolerances name outcomes that were learned."""
    for kind in ("weights", "tolerances"):
        for name in getattr(config.decision, kind):
            if name not in state.outcomes:
                raise ConfigError(
                    f"Unknown outcome {name!r} in `{kind}` of [decision].{nearest(name, state.outcomes)}"
                )


def open_batches(
    state: "RoundState", logs: Logs, config: Config, constraints: Constraints
) -> Iterator[Batch]:
    """Read states once, a batch at a time."""
    x, K = state.encoder.encode(logs).values, len(logs.schema.channels)
    start, budget, used = np.array(logs.shares), np.array(logs.budget), used_channels(state, logs)
    tried = (
        2
        * (len(config.decision.steps) + 2)
        * min(len(edges(K)), config.decision.searching().most_edges)
    )
    size = max(32, PLACES // tried)
    mixes = None if state.main.places is None else state.main.places.shares
    evident = is_evident(state, config)
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
        opened = state.support.at(x[rows])
        stakes = tuple(
            stake(name, learned, x[rows], start[rows], config, name == logs.schema.outcome)
            for name, learned in state.outcomes.items()
        )
        radius = NormalDist().inv_cdf(config.decision.confidence)
        posterior = config.decision.uncertainty == "posterior" and all(
            learned.doubt is not None for learned in state.outcomes.values()
        )
        yield Batch(
            rows,
            Problem(start[rows], opened, limits, stakes, radius, evident, mixes),
            opened,
            posterior,
        )


def is_evident(state: "RoundState", config: Config) -> bool:
    """Whether held-out units, or repeats of mixes, speak for any outcome of the objective."""
    weights = config.decision.weights or {next(iter(state.outcomes)): 1.0}
    return any(
        learned.places is not None or learned.weighing.evidence >= config.decision.min_significance
        for name, learned in state.outcomes.items()
        if weights.get(name)
    )


def stake(
    name: str, learned: "Learned", x: NDArray[np.float32], start: Floats, config: Config, main: bool
) -> OutcomeTerm:
    """One outcome at n states: its gains, how far they may be off, and what it means for a decision."""
    decision, reading = config.decision, learned.student.read(x)
    weight = decision.weights.get(name, 0.0) if decision.weights else float(main)
    return OutcomeTerm(
        name=name,
        gain=gain_of(learned, reading),
        sigma=sigma_of(learned, reading, x, start, config),
        slopes=reading.field,
        weight=weight,
        tolerance=None if main else decision.tolerances.get(name, 0.0),
        local_gain=near_of(learned, reading),
    )


def near_of(
    learned: "Learned", reading: "Reading"
) -> Callable[[Floats, float], MoveFunction | None]:
    """What compares places around a start for a search."""

    def near(start: Floats, radius: float) -> MoveFunction | None:
        rough, places = reading.near(start, radius), learned.places
        if rough is None or places is None:
            return rough
        return lambda rows, p, ends: rough(rows, p, ends) + places.gain(p, ends)

    return near


def gain_of(learned: "Learned", reading: "Reading") -> MoveFunction:
    """Ĝ of ways: the student's, and between logged mixes what their repeats say beyond it."""
    places = learned.places
    if places is None:
        return reading.mean_gain
    return lambda rows, p, ends: reading.mean_gain(rows, p, ends) + places.gain(p, ends)


def sigma_of(
    learned: "Learned", reading: "Reading", x: NDArray[np.float32], start: Floats, config: Config
) -> MoveFunction:
    """σ̂ of ways: of the surface, and of places where there are some."""
    surface, places = surface_sigma(learned, reading, x, start, config), learned.places
    if places is None:
        return surface
    return lambda rows, p, ends: places.sigma(surface(rows, p, ends), p, ends)


def surface_sigma(
    learned: "Learned", reading: "Reading", x: NDArray[np.float32], start: Floats, config: Config
) -> MoveFunction:
    """σ̂ by the posterior where the teacher has one, else by members or dropout."""
    if config.decision.uncertainty == "posterior" and learned.doubt is not None:
        return GainStd(learned.doubt.covariance(x, start))
    if config.decision.uncertainty == "dropout":
        reading = reading.drop(DROPPED, DRAWS, config.seed)
    return lambda rows, p, ends: spread(reading.gain(rows, p, ends))


def used_channels(state: "RoundState", logs: Logs) -> NDArray[np.bool_]:
    """Which channels each row's unit was ever seen to use, (n, K); what it uses today counts."""
    names, used = state.support.logged.used_by
    units = np.asarray(logs.units.cast("string").to_numpy(zero_copy_only=False), dtype=np.str_)[
        logs.unit_codes
    ]
    place = np.minimum(np.searchsorted(names, units), len(names) - 1)
    return np.where((names[place] == units)[:, None], used[place], False) | (logs.shares > 0)


def pool(
    batches: list[Batch],
    verdicts: list[Decided],
    logs: Logs,
    config: Config,
    constraints: Constraints,
    pools: Pools,
) -> list[Decided]:
    """Hold caps over all rows: give up or shorten moves where that costs least."""
    offers = [
        offer(b.case, v, logs.schema.channels, pools, config.decision)
        for b, v in zip(batches, verdicts, strict=True)
    ]
    settings = Pooled(pools, constraints.largest_move_per_day, config.money_digits)
    days = logs.times.astype("datetime64[D]")
    return share_out(offers, [days[b.rows] for b in batches], logs.schema.channels, settings)


def answer(state: "RoundState", logs: Logs, batch: Batch, verdict: Decided) -> Decision:
    """The verdict of a batch as columns."""
    case, rows = batch.case, np.arange(len(batch.rows))
    moved = verdict.moved
    looked = batch.opened.neighbours(
        rows, np.where(moved[:, None], verdict.shares, verdict.best_end)
    )
    lower = verdict.gain - case.radius * verdict.sigma
    channels = np.array(logs.schema.channels)
    off = verdict.best_end - case.start
    best = np.char.add(
        np.char.add(channels[off.argmin(axis=1)], " → "), channels[off.argmax(axis=1)]
    )
    stirred = np.abs(off).max(axis=1) > 0
    return Decision(
        shares=verdict.shares,
        gain=verdict.gain,
        gain_lower=lower,
        support=batch.opened.score(rows, case.start, verdict.shares),
        steps=count_transfers(case.start, verdict.shares),
        reason=verdict.reason,
        money=case.limits.round_money(verdict.shares),
        further={
            "sigma": verdict.sigma,
            "binding": verdict.binding,
            "best_move": np.where(stirred, best, ""),
            "best_gain": verdict.best_gain,
            "best_sigma": verdict.best_sigma,
            "omega": looked.omega,
            "neighbours": looked.count,
            "neighbour_ids": name_neighbours(state, looked.nearest),
            "certificate": np.full(len(rows), "simulated" if batch.posterior else "uncalibrated"),
        },
        searches={verdict.search_path: len(rows)},
    )


def name_neighbours(state: "RoundState", nearest_rows: NDArray[np.int64]) -> NDArray[np.str_]:
    """Unit and time of the nearest logged actions, e.g. `item7@2026-01-03; item9@2026-01-02`."""
    named, few = state.support.logged.labels, nearest_rows[:, :SHOWN]
    found = named[few[:, 0]]
    for column in range(1, few.shape[1]):
        found = np.char.add(np.char.add(found, "; "), named[few[:, column]])
    return found


def count_transfers(start: Floats, end: Floats) -> NDArray[np.int64]:
    """How many transfers from one channel to another make the whole move, at least."""
    off = end - start
    far = total_variation(start, end) > 1e-12
    gave, got = (off < -1e-12).sum(axis=1), (off > 1e-12).sum(axis=1)
    return np.where(far, np.maximum(np.maximum(gave, got), 1), 0)


def join(parts: list[Decision]) -> Decision:
    """Batches in their order."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    names = ("shares", "gain", "gain_lower", "support", "steps", "reason")
    money = None if parts[0].money is None else column("money")
    further = {
        name: np.concatenate([part.further[name] for part in parts]) for name in parts[0].further
    }
    searches = Counter[str]()
    for part in parts:
        searches.update(part.searches)
    columns = {name: column(name) for name in names}
    return Decision(**columns, money=money, further=further, searches=dict(searches))
