"""Day after day: look back, set the budget, decide the shares, see what comes out."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np

from realloc.world.platform.catalogue import WEEK, Catalogue
from realloc.world.platform.demand import PastDemand, look_back, natural_demand, set_budget
from realloc.world.platform.draws import Draws, Floats
from realloc.world.platform.exploration import ExplorationMenu, explore, make_menu
from realloc.world.platform.items import GRID, Items, Thousandths
from realloc.world.platform.legacy import Before, move_probability, reallocate
from realloc.world.platform.parameters import MarketplaceParameters
from realloc.world.platform.response import MarketState, response

SATURDAY = 5


@dataclass(frozen=True, eq=False)
class MarketRules:
    """What the simulation of any block needs: the catalogue and the parameters."""

    catalogue: Catalogue
    parameters: MarketplaceParameters

    @cached_property
    def menu(self) -> ExplorationMenu:
        """The exploration arms."""
        return make_menu(len(self.catalogue.channels), self.parameters.exploration)

    @cached_property
    def first_date(self) -> date:
        """The date of day 0."""
        return date.fromisoformat(self.parameters.first_day)

    def date_of(self, day: int) -> date:
        """The date of a day."""
        return self.first_date + timedelta(days=day)

    def state(self, items: Items, day: int | np.ndarray, budget: Floats) -> MarketState:
        """The state of item rows on their day with their budget."""
        days = np.broadcast_to(np.asarray(day, dtype=np.int64), len(items))
        p = self.parameters
        q = p.response
        discount = self.catalogue.discount  # (K,)
        tilt = discount - 0.5
        demand = natural_demand(self.catalogue, items, days, p.items.wave)
        more_budget = np.log(budget) - items.log_budget
        weekday = (days + self.first_date.weekday()) % WEEK
        weekend = np.where(weekday >= SATURDAY, q.weekend_pull, 0.0)
        discount_pull = q.discount_pull + weekend - q.price_pull * items.price_deviation
        usual_cost = q.cost_low + (q.cost_high - q.cost_low) * discount
        return MarketState(
            base=demand + p.budgets.elasticity * more_budget,
            log_price=items.log_price,
            pull=np.exp(items.taste + discount_pull[:, None] * tilt),
            saturation=q.saturation * np.exp(q.saturation_budget * more_budget),
            synergy=q.synergy * items.synergy,
            basket=np.broadcast_to(-q.basket * tilt, items.taste.shape),
            cost=usual_cost * (1 + q.cost_spread * items.thrift[:, None]),
            opened=items.opened,
        )


@dataclass(frozen=True, eq=False)
class Day:
    """One day of a block of items."""

    day: int
    past: PastDemand
    budget: Floats  # (n,)
    before: Thousandths  # (n, K) shares before the decision
    shares: Thousandths  # (n, K) and after it
    propensity: Floats  # (n,) NaN for routine items
    outcomes: dict[str, Floats]


def simulate(rules: MarketRules, items: Items, draws: Draws, days: int) -> Iterator[Day]:
    """The days 0 … days − 1 of a block of items; shares and sales are carried from day to day."""
    history = warm_up(rules, items, draws)
    holding = items.start
    for day in range(days):
        past = look_back(np.stack(history))
        budget = set_budget(items, past, draws, day, rules.parameters.budgets)
        before = Before(past, budget, holding)
        after, propensity = decide(rules, items, before, draws, day)
        outcomes = observe(rules, items, draws, day, budget, after)
        yield Day(day, past, budget, holding, after, propensity, outcomes)
        holding = after
        history.append(outcomes["orders"])


def warm_up(rules: MarketRules, items: Items, draws: Draws) -> deque[Floats]:
    """Orders of the week before day 0, at the starting shares and standing budgets."""
    budget = np.exp(items.log_budget)
    orders: deque[Floats] = deque(maxlen=WEEK)
    for day in range(-WEEK, 0):
        orders.append(observe(rules, items, draws, day, budget, items.start)["orders"])
    return orders


def decide(
    rules: MarketRules, items: Items, before: Before, draws: Draws, day: int
) -> tuple[Thousandths, Floats]:
    """The day's shares: by the legacy policy, or by the menu for items under exploration."""
    legacy = rules.parameters.legacy
    typical = rules.parameters.items.log_budget_mean
    chance = move_probability(items, before, typical, legacy)
    uniforms = [draws.uniform(f"legacy.{name}", day) for name in ("move", "edge", "step")]
    after = reallocate(rules.catalogue, items, before, chance, uniforms, legacy)
    propensity = np.full(len(items), np.nan)
    rows = np.flatnonzero(items.explored)
    uniform = draws.uniform("exploration", day)[rows]
    drawn = explore(rules.menu, before.holding[rows], items.opened[rows], uniform)
    after[rows], propensity[rows] = drawn
    return after, propensity


def observe(
    rules: MarketRules,
    items: Items,
    draws: Draws,
    day: int,
    budget: Floats,
    shares: Thousandths,
) -> dict[str, Floats]:
    """What came out: the truth plus noise that GMV inherits from orders and income from GMV."""
    q = rules.parameters.response
    outcomes = response(rules.state(items, day, budget), shares / GRID, q)
    noise = np.zeros(len(items))
    for name, sd in zip(
        outcomes, (q.noise_sd, q.basket_noise_sd, q.margin_noise_sd), strict=True
    ):
        noise = noise + sd * draws.normal(f"noise.{name}", day)
        outcomes[name] = outcomes[name] + noise
    return outcomes
