"""Logs whose moves are drawn from a menu and pay by a known slope,
and a model that learned that they pay.
"""

import copy
from dataclasses import replace
from datetime import date, timedelta
from functools import cache

import numpy as np
import pandas as pd

from realloc import ReAlloc, Schema
from realloc.decide.config import DecisionConfig
from tests.small import CONFIG

MOVES = np.array([0.0, 0.05, -0.05, 0.1, -0.1])  # of the share of ads
EXPLORED, ROUTINE = np.full(5, 0.2), np.array([0.6, 0.1, 0.1, 0.1, 0.1])
ARMS = {
    f"p_{arm}": {"ads": move, "coupon": -move} for arm, move in enumerate(MOVES.tolist())
}
SCHEMA = Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=["ads", "coupon"],
    budget="budget",
    features=["price", "category"],
    guardrails=["gmv"],
    propensity="chance",
)


def make_logs(
    units: int = 180,
    days: int = 10,
    seed: int = 0,
    slope: float = 4.0,
    gmv: float = 2.0,
    first: str = "2026-01-05",
) -> pd.DataFrame:
    """Two thirds of the units draw moves with chances that are logged; the others move seldom,
    and nobody says how.

    `slope`, `gmv`: what a whole share of ads is worth to orders and to gmv.
    """
    rng = np.random.default_rng(seed)
    share, price = rng.uniform(0.3, 0.7, units), rng.standard_normal(units)
    explored = np.arange(units) % 3 > 0
    usual = np.where(explored[:, None], EXPLORED, ROUTINE)
    category = rng.choice(["toys", "books"], units)
    parts = []
    for day in range(days):
        chances = np.where(
            (share[:, None] + MOVES >= 0) & (share[:, None] + MOVES <= 1), usual, 0.0
        )
        chances /= chances.sum(axis=1, keepdims=True)
        drawn = (rng.random(units)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
        share = share + MOVES[drawn]
        noise = rng.standard_normal((2, units))
        parts.append(
            pd.DataFrame(
                {
                    "item": [f"s{seed}-{unit:03d}" for unit in range(units)],
                    "date": date.fromisoformat(first) + timedelta(days=day),
                    "budget": 100.0 + 10 * price.round(1),
                    "ads": share,
                    "coupon": 1 - share,
                    "orders": 10 + price + slope * share + 0.2 * noise[0],
                    "gmv": 20 + price + gmv * share + 0.2 * noise[1],
                    "price": price,
                    "category": category,
                    "chance": np.where(explored, chances[np.arange(units), drawn], np.nan),
                    **{name: chances[:, arm] for arm, name in enumerate(ARMS)},
                    "explored": explored,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


@cache
def _fitted() -> ReAlloc:
    decision = DecisionConfig(
        min_significance=0.0,
        steps=(0.05,),
        max_turns=5,
        max_length=0.1 * np.sqrt(2),
        tolerances={"gmv": 1.0},
    )
    return ReAlloc(replace(CONFIG, decision=decision), SCHEMA, quiet=True).fit(make_logs())


def fitted() -> ReAlloc:
    """A model of its own for every test; what it learned is shared and never changed in place."""
    return copy.copy(_fitted())


@cache
def later(**changes) -> pd.DataFrame:
    """Logs of units that the model never saw."""
    return make_logs(**{"units": 180, "seed": 1, **changes})
