"""The legacy policy: risk-controlled, small, seldom, and steered by what also drives sales.

    P(move)  = σ(rate + a·(ad share − 1/K) + b·price + c·log budget)
    P(k → l) ∝ exp(r_l − r_k),  r_k = −follow·trend·(discount_k − ½) − revert·p_k

A move needs two opened channels k, l with p_k > 0.

Falling sales call for discounts, rising ones for ads; long shares are trimmed. Steps come from a
short menu, one notch smaller where the budget is large, and a step larger than what the channel
holds empties it: zeros by moves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Integers, Rows, edges
from realloc.base.validation import check_types
from realloc.world.platform.catalogue import Catalogue
from realloc.world.platform.demand import PastDemand
from realloc.world.platform.draws import Floats, choose
from realloc.world.platform.exploration import check_steps
from realloc.world.platform.items import GRID, Items, Thousandths


@dataclass(frozen=True, kw_only=True)
class LegacyParameters:
    """When, where to and how far routine items are moved."""

    rate: float = -1.1  # log odds of a move of a typical item
    rate_ads: float = 2.0
    rate_price: float = 0.8
    rate_budget: float = 0.3
    follow: float = 3.0  # how strongly the direction follows the sales trend
    revert: float = 0.2  # how strongly large shares are trimmed
    steps: tuple[int, ...] = (10, 20, 30, 50, 80, 100)  # thousandths of the budget
    weights: tuple[float, ...] = (0.05, 0.15, 0.25, 0.35, 0.15, 0.05)
    # Log budget above the standing one from which a step is one notch smaller.
    caution: float = 0.5

    def __post_init__(self) -> None:
        check_types(self, "the legacy policy")
        check_steps(self.steps, self.weights, "the legacy policy")


@dataclass(frozen=True, eq=False)
class Before:
    """What the policy sees on a day, before it decides."""

    past: PastDemand
    budget: Floats  # (n,)
    holding: Thousandths  # (n, K) yesterday's shares


def move_probability(
    items: Items, before: Before, typical_log_budget: float, parameters: LegacyParameters
) -> Floats:
    """P(move) of every item; 0 with fewer than two opened channels."""
    p = parameters
    ad_share = before.holding[:, 0] / GRID
    equal_share = 1 / items.opened.shape[1]
    odds = (
        p.rate
        + p.rate_ads * (ad_share - equal_share)
        + p.rate_price * items.price_deviation
    )
    odds += p.rate_budget * (np.log(before.budget) - typical_log_budget)
    return np.where(items.opened.sum(axis=1) > 1, 1 / (1 + np.exp(-odds)), 0.0)


def reallocate(
    catalogue: Catalogue,
    items: Items,
    before: Before,
    chance: Floats,
    uniforms: Sequence[Floats],
    parameters: LegacyParameters,
) -> Thousandths:
    """The shares after the day's decision, (n, K) in thousandths.

    `chance` is P(move); `uniforms` are three draws per item: whether to move, where to, how far.
    """
    whether, where, how_far = uniforms
    pairs = edges(len(catalogue.channels))
    source, target = pairs.T
    wish = -parameters.follow * before.past.trend[:, None] * (catalogue.discount - 0.5)
    wish -= parameters.revert * (before.holding / GRID)
    feasible = (
        items.opened[:, source] & items.opened[:, target] & (before.holding[:, source] > 0)
    )
    gap = np.where(feasible, wish[:, target] - wish[:, source], -np.inf)
    # (n, K(K−1)), unnormalised
    weights = np.where(feasible, np.exp(np.minimum(gap, 50.0)), 0.0)
    moving = (whether < chance) & (weights > 0).any(axis=1)
    notch = choose(how_far, np.tile(parameters.weights, (len(items), 1)))
    large = np.log(before.budget) - items.log_budget > parameters.caution
    step = np.array(parameters.steps, dtype=np.int32)[np.maximum(notch - large, 0)]
    return transfer(
        before.holding, pairs[choose(where, weights)], np.where(moving, step, 0)
    )


def transfer(holding: Thousandths, pair: Integers, step: Rows) -> Thousandths:
    """Move up to `step` thousandths, as far as held, along each row's `pair` (source, target)."""
    rows = np.arange(len(holding))
    source, target = pair.T
    taken = np.minimum(step, holding[rows, source])
    after = holding.copy()
    after[rows, source] -= taken
    after[rows, target] += taken
    return after
