"""Caps over all rows: a pool of money per channel, and a day's moved share, on top of what each row wants for itself.

Every row offers its recommendation, parts of the way there, and ways that leave the capped channels; dual prices decide who
gives way (`portfolio.py`). All offers keep the row's own rules: they lie on ways that support, limits and guardrails allow.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, Integers, total_variation
from realloc.base.validation import nearest
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import Rows, weigh_slopes
from realloc.decide.decide import Decided
from realloc.decide.portfolio.portfolio import ChoiceConfig, Menu, choose
from realloc.decide.problem import (
    Problem,
    allowed_by,
    gain_and_sigma,
    score_ends,
    search_settings,
    steepness,
)
from realloc.decide.search.ascent import search_ascent

Pools = dict[str, float]  # most money per channel over all rows

PARTS = (0.25, 0.5, 0.75, 1.0)  # of a way that are offered
PULL = 10.0  # how much the release search prefers leaving capped channels to gaining, in units of the steepest gain
MOST_DAYS = 31


@dataclass(frozen=True, eq=False)
class Offer:
    """What n rows could do: ends (n, J, K) with their conservative gain; the first is to stay."""

    problem: Problem
    decided: Decided
    ends: Floats
    gain: Floats  # (n, J)
    possible: NDArray[np.bool_]  # (n, J)


@dataclass(frozen=True)
class Pooled:
    """The caps."""

    pools: Pools
    moved_per_day: float | None
    digits: int


def offer(
    problem: Problem,
    decided: Decided,
    channels: tuple[str, ...],
    pools: Pools,
    config: DecisionConfig,
) -> Offer:
    """The row's own recommendation and ways out of capped channels, in parts."""
    for name, most in pools.items():
        if name not in channels:
            raise ConfigError(f"Unknown channel {name!r} in the pools.{nearest(name, channels)}")
        if not 0 <= most < np.inf:
            raise ConfigError(
                f"Expected a finite amount of at least 0 in the pool of {name!r}, got {most}."
            )
    base, _ = problem.limits.repair()
    targets = [
        decided.shares,
        *(leave(problem, base, channels.index(name), config) for name in pools),
    ]
    parts = (1.0,) if problem.limits.moves.grid is not None else PARTS
    ends = [base]
    for target in targets:
        for part in parts:
            end = target if part == 1.0 else problem.limits.settle(base + part * (target - base))
            ends.append(np.where(problem.limits.useful(end)[:, None], end, base))
    stacked = np.stack(ends, axis=1)
    gain = score_ends(problem, np.arange(len(base)), base, stacked, config)
    # Half of a way that a guardrail allows may be a place that it does not: parts are judged again.
    fresh = np.tile([part < 1.0 for part in parts], len(targets))
    possible = total_variation(stacked, base[:, None]) > 1e-12
    possible[:, 1:] &= ~fresh | allowed_by(problem)(np.arange(len(base)), base, stacked[:, 1:])
    possible[:, 0] = True
    gain[:, 0] = 0.0
    return Offer(problem, decided, stacked, gain, possible)


def leave(problem: Problem, base: Floats, channel: int, config: DecisionConfig) -> Floats:
    """Ends (n, K) that take as much as the rules allow out of a channel, at the least cost."""
    K = base.shape[1]
    field = np.abs(weigh_slopes(problem.outcomes, np.arange(len(base)), base))
    pull = PULL * float(field.max(initial=1e-12))

    def objective(rows: Rows, start: Floats, ends: Floats) -> Floats:
        return score_ends(problem, rows, start, ends, config) + pull * (
            start[:, None, channel] - ends[..., channel]
        )

    def slopes(rows: Rows, held: Floats) -> tuple[Floats, Floats]:
        getting, giving = steepness(problem, rows, held)
        away = pull * (np.arange(K) == channel)
        return getting - away, giving - away

    settings = replace(search_settings(problem, config), threshold=0.0)
    trace = search_ascent(base, objective, allowed_by(problem), settings, slopes)
    return problem.limits.settle(trace.shares)


def share_out(
    offers: list[Offer],
    days: list[NDArray[np.datetime64]],
    channels: tuple[str, ...],
    pooled: Pooled,
    config: DecisionConfig,
) -> list[Decided]:
    """Choose one offer per row such that every cap holds to the cent."""
    if not any(len(one.gain) for one in offers):
        return [one.decided for one in offers]
    when, each = np.unique(np.concatenate(days), return_inverse=True)
    names, limits = _resources(offers, when, each, pooled)
    columns = [channels.index(name) for name in pooled.pools]
    use = np.concatenate([_use(one, columns) for one in offers])
    if pooled.moved_per_day is not None:
        moved = use[..., -1:] * (each[:, None, None] == np.arange(len(when)))
        use = np.concatenate([use[..., :-1], moved], axis=2)
    else:
        use = use[..., :-1]
    menu = Menu(
        np.concatenate([one.gain for one in offers]),
        use,
        np.concatenate([one.possible for one in offers]),
    )
    choice = choose(menu, limits, names, ChoiceConfig(digits=pooled.digits))
    first, found = 0, []
    for one in offers:
        found.append(_take(one, choice.option[first : first + len(one.gain)], config))
        first += len(one.gain)
    return found


def _resources(
    offers: list[Offer], when: NDArray[np.datetime64], each: NDArray[np.integer], pooled: Pooled
) -> tuple[tuple[str, ...], Integers]:
    unit = 10.0**pooled.digits
    names, limits = (
        list(pooled.pools),
        [int(np.floor(most * unit + 1e-6)) for most in pooled.pools.values()],
    )
    if pooled.moved_per_day is not None:
        if len(when) > MOST_DAYS:
            raise ConfigError(
                f"Expected rows of at most {MOST_DAYS} days for `largest_move_per_day`, got {len(when)}. "
                "Recommend a day at a time."
            )
        budget = np.bincount(
            each, weights=np.concatenate([one.problem.limits.bounds.budget for one in offers])
        )
        names += [f"money moved on {day}" for day in when]
        limits += [int(np.floor(pooled.moved_per_day * total * unit + 1e-6)) for total in budget]
    return tuple(names), np.array(limits, dtype=np.int64)


def _use(one: Offer, columns: list[int]) -> Integers:
    """Money in the capped channels and money moved, of every offer: (n, J, R + 1) minor units."""
    today = one.problem.limits.round_money(one.problem.start)
    found = []
    for j in range(one.ends.shape[1]):
        then = one.problem.limits.round_money(one.ends[:, j])
        moved = np.maximum(then - today, 0).sum(axis=1)
        found.append(np.concatenate([then[:, columns], moved[:, None]], axis=1))
    return np.stack(found, axis=1)


def _take(one: Offer, option: Integers, config: DecisionConfig) -> Decided:
    """The decided with the offers that were chosen."""
    rows, decided = np.arange(len(option)), one.decided
    shares = one.ends[rows, option]
    same = (shares == decided.shares).all(axis=1)
    start = one.problem.start
    moved = total_variation(shares, start) > 1e-12
    gain, sigma = gain_and_sigma(one.problem, rows, start, shares)
    changed = np.where(moved, np.where(option == 0, "required", "moved"), "pooled")
    return replace(
        decided,
        shares=shares,
        gain=np.where(moved, gain, 0.0),
        sigma=np.where(moved, sigma, 0.0),
        reason=np.where(same, decided.reason, changed),
        binding=np.where(same, decided.binding, "pool"),
    )
