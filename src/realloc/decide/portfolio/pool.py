"""Caps over all rows: a pool of money per channel, and a day's moved share.

Every row offers its recommendation, parts of the way there, and ways that leave the capped
channels; `portfolio.py` decides who gives way. All offers keep the row's own rules. Offers of
different rows are made independently, so those of a large batch can be kept as plain arrays until
the choice is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, Integers, total_variation
from realloc.base.validation import check_known
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import Mask, Rows, weigh_slopes
from realloc.decide.decide import Decided
from realloc.decide.portfolio.knapsack import LARGEST_TOTAL, Menu
from realloc.decide.portfolio.portfolio import choose
from realloc.decide.problem import (
    UNMOVED,
    Problem,
    allowed_by,
    gain_and_sigma,
    score_ends,
    search_settings,
    steepness,
)
from realloc.decide.search.ascent import search_ascent
from realloc.decide.types import POOL

Pools = dict[str, float]  # most money per channel over all rows

PARTS = (0.25, 0.5, 0.75, 1.0)  # of the way to an end that are offered
PULL = 10.0  # weight of leaving a capped channel against gaining, in units of the steepest gain
MOST_DAYS = 31


@dataclass(frozen=True, eq=False)
class Offer:
    """What n rows could do: ends (n, J, K) with their conservative gain; the first is to stay."""

    problem: Problem
    decided: Decided
    ends: Floats
    gain: Floats  # (n, J)
    possible: Mask  # (n, J)

    def use(self, columns: list[int]) -> Integers:
        """Money in the capped channels and money moved, (n, J, R + 1) minor units."""
        limits = self.problem.limits
        today = limits.round_money(self.problem.start)
        uses: list[Integers] = []
        for j in range(self.ends.shape[1]):
            money = limits.round_money(self.ends[:, j])
            moved = np.maximum(money - today, 0).sum(axis=1)
            uses.append(np.concatenate([money[:, columns], moved[:, None]], axis=1))
        return np.stack(uses, axis=1)

    def take(self, option: Integers) -> Decided:
        """The decisions with the chosen options (n,)."""
        rows = np.arange(len(option))
        start = self.problem.start
        shares = self.ends[rows, option]
        unchanged = (shares == self.decided.shares).all(axis=1)
        moved = total_variation(shares, start) > UNMOVED
        gain, sigma = gain_and_sigma(self.problem, rows, start, shares)
        reason = np.where(moved, np.where(option == 0, "required", "moved"), "pooled")
        return replace(
            self.decided,
            shares=shares,
            gain=np.where(moved, gain, 0.0),
            sigma=np.where(moved, sigma, 0.0),
            reason=np.where(unchanged, self.decided.reason, reason),
            binding=np.where(unchanged, self.decided.binding, POOL),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All but the problem, as arrays by name."""
        decided = {
            f"decided.{field.name}": np.asarray(getattr(self.decided, field.name))
            for field in fields(Decided)
        }
        return decided | {"ends": self.ends, "gain": self.gain, "possible": self.possible}

    @classmethod
    def from_arrays(cls, problem: Problem, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The offers that `to_arrays` wrote, of the same rows."""
        values: dict[str, Any] = {
            field.name: arrays[f"decided.{field.name}"] for field in fields(Decided)
        }
        values["search_path"] = str(values["search_path"])
        decided = Decided(**values)
        return cls(problem, decided, arrays["ends"], arrays["gain"], arrays["possible"])


@dataclass(frozen=True)
class Pooled:
    """The caps."""

    pools: Pools
    moved_per_day: float | None
    digits: int


@dataclass(frozen=True, eq=False)
class Demand:
    """What the offers of n rows gain and use: all that the choice between rows looks at."""

    gain: Floats  # (n, J)
    possible: Mask  # (n, J)
    use: Integers  # (n, J, R) minor units in the capped channels
    moved: Integers  # (n, J) minor units that change hands
    day: NDArray[np.datetime64]  # (n,)
    budget: Floats  # (n,) minor units


def offer(
    problem: Problem,
    decided: Decided,
    channels: tuple[str, ...],
    pools: Pools,
    config: DecisionConfig,
) -> Offer:
    """Offer the row's recommendation and ways out of the capped channels, in parts."""
    for name, most in pools.items():
        check_known("channel", name, channels, "the pools")
        if not 0 <= most < np.inf:
            raise ConfigError(
                f"Expected a finite amount of at least 0 in the pool of {name!r}, got {most}."
            )
    limits = problem.limits
    base, _ = limits.repair()
    rows = np.arange(len(base))
    targets = [decided.shares]
    targets += [leave(problem, base, channels.index(name), config) for name in pools]
    parts = PARTS if limits.moves.grid is None else (1.0,)
    stacked = [base]
    for target in targets:
        for part in parts:
            end = target if part == 1.0 else limits.settle(base + part * (target - base))
            stacked.append(np.where(limits.useful(end)[:, None], end, base))
    ends = np.stack(stacked, axis=1)
    gain = score_ends(problem, rows, base, ends, config)
    gain[:, 0] = 0.0
    # Half of a way that a guardrail allows may end where it does not: parts are judged again.
    whole = np.tile([part == 1.0 for part in parts], len(targets))
    possible = total_variation(ends, base[:, None]) > UNMOVED
    possible[:, 1:] &= whole | allowed_by(problem)(rows, base, ends[:, 1:])
    possible[:, 0] = True
    if problem.worth is not None:
        moved = total_variation(ends, base[:, None]) > UNMOVED
        gain = problem.money(gain, config.move_cost, moved)
    return Offer(problem, decided, ends, gain, possible)


def leave(problem: Problem, base: Floats, channel: int, config: DecisionConfig) -> Floats:
    """Ends (n, K) that take as much as the rules allow out of a channel, at the least cost."""
    field = np.abs(weigh_slopes(problem.outcomes, np.arange(len(base)), base))
    pull = PULL * float(field.max(initial=1e-12))

    def objective(rows: Rows, start: Floats, ends: Floats) -> Floats:
        left = start[:, None, channel] - ends[..., channel]
        return score_ends(problem, rows, start, ends, config) + pull * left

    def slopes(rows: Rows, shares: Floats) -> tuple[Floats, Floats]:
        getting, giving = steepness(problem, rows, shares)
        away = pull * (np.arange(base.shape[1]) == channel)
        return getting - away, giving - away

    settings = replace(search_settings(problem, config), threshold=0.0)
    trace = search_ascent(base, objective, allowed_by(problem), settings, slopes)
    return problem.limits.settle(trace.shares)


def demand(
    offered: Offer, days: NDArray[np.datetime64], channels: tuple[str, ...], pools: Pools
) -> Demand:
    """What the offers of some rows ask for."""
    use = offered.use([channels.index(name) for name in pools])
    budget = offered.problem.limits.bounds.budget
    return Demand(offered.gain, offered.possible, use[..., :-1], use[..., -1], days, budget)


def choose_offers(demands: list[Demand], pooled: Pooled) -> list[Integers]:
    """Choose one offer per row such that every cap holds to the cent."""

    def join(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(one, name) for one in demands])

    gain = join("gain")
    if not len(gain):
        return [np.empty(0, dtype=np.int64) for _ in demands]
    unit = 10.0**pooled.digits
    caps = dict(pooled.pools)
    use = join("use")
    if pooled.moved_per_day is not None:
        when, day = np.unique(join("day"), return_inverse=True)
        if len(when) > MOST_DAYS:
            raise ConfigError(
                f"Expected rows of at most {MOST_DAYS} days for `largest_move_per_day`, "
                f"got {len(when)}. Recommend a day at a time."
            )
        totals = np.bincount(day, weights=join("budget"))
        for name, total in zip(when, totals, strict=True):
            caps[f"money moved on {name}"] = pooled.moved_per_day * float(total)
        on_day = day[:, None, None] == np.arange(len(when))
        use = np.concatenate([use, join("moved")[..., None] * on_day], axis=2)
    menu = Menu(gain, use, join("possible"))
    # A cap above the largest total of uses binds nobody.
    limits = np.minimum(np.floor(np.array([*caps.values()]) * unit + 1e-6), LARGEST_TOTAL)
    choice = choose(menu, limits.astype(np.int64), tuple(caps), pooled.digits)
    ends = np.cumsum([len(one.gain) for one in demands])
    return np.split(choice.option, ends[:-1])
