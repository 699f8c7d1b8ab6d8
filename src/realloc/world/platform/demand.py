"""Demand and budgets: what an item would sell anyway, and money that follows what it sold lately.

    d_it = level_i + drift_i·(t − 30)/60 + wave·sin(2πt/period_i + phase_i) + week_c(t) + shock_c(t)
    log B_it = log B_i + chase·(mean of the last 7 days' orders − level_i) + noise

Demand follows from the item's number and the day alone, so the truth of any log row can be found
later. Budgets chase sales, sales follow demand: spend and outcome move together without one causing
the other.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Integers
from realloc.base.validation import check_range, check_types
from realloc.world.platform.catalogue import WEEK, Catalogue
from realloc.world.platform.draws import Draws, Floats
from realloc.world.platform.items import Items

SPAN = 60.0
RECENT = 3  # the trend compares the last 3 days with the 4 before


@dataclass(frozen=True, kw_only=True)
class BudgetParameters:
    """How budgets are set from day to day."""

    chase: float = 0.5  # elasticity of a day's budget to recent sales
    noise_sd: float = 0.15
    elasticity: float = 0.10  # of orders to the budget, whatever the mix

    def __post_init__(self) -> None:
        check_types(self, "the budgets")
        check_range(self, ("noise_sd",), ">= 0", "the budgets")
        if not 0 <= self.chase * self.elasticity < 1:
            raise ConfigError(
                "Expected chase × elasticity from 0 to below 1 in the budgets (sales and budgets "
                f"would run away), got {self.chase} × {self.elasticity}."
            )


@dataclass(frozen=True, eq=False)
class PastDemand:
    """What the last seven days of orders say; nothing of today."""

    last: Floats  # yesterday
    mean: Floats  # of seven days
    trend: Floats  # mean of the last three days minus mean of the four before


def natural_demand(
    catalogue: Catalogue, items: Items, day: Integers, wave: float
) -> Floats:
    """d_it of item rows on their days, both (n,)."""
    demand = items.level + items.drift * ((day - SPAN / 2) / SPAN)
    demand += wave * np.sin(2 * np.pi * day / items.wave_days + items.wave_phase)
    if len(day) == 0:
        return demand
    # What a category's items share on a day: the weekly season and the shock.
    first = int(day.min())
    days = range(first, int(day.max()) + 1)
    common = np.stack([catalogue.shock(d) + catalogue.week[:, d % WEEK] for d in days])
    return demand + common[day - first, items.category]


def look_back(history: Floats) -> PastDemand:
    """Summarise `history` (7, n), newest last."""
    trend = history[-RECENT:].mean(axis=0) - history[:-RECENT].mean(axis=0)
    return PastDemand(last=history[-1], mean=history.mean(axis=0), trend=trend)


def set_budget(
    items: Items, past: PastDemand, draws: Draws, day: int, parameters: BudgetParameters
) -> Floats:
    """The day's budgets in money, rounded to cents and at least one."""
    log_budget = items.log_budget + parameters.chase * (past.mean - items.level)
    log_budget += parameters.noise_sd * draws.normal("budget", day)
    return np.maximum(np.round(np.exp(log_budget), 2), 0.01)
