"""Small logs in which busy items are moved: traffic drives both sales and moves,
and the effect of a move is known.
"""

from datetime import date, timedelta

import numpy as np
import pandas as pd

from realloc import Logs, Schema, read_logs
from realloc.base.simplex import edge_directions

SCHEMA = Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=["ads", "coupon", "rebate"],
    budget="budget",
    features=["traffic", "size", "category"],
    guardrails=["gmv"],
)
FIRST = date(2025, 1, 6)
START = date(2025, 1, 16)
SLOPE = np.array([3.0, 0.0, -3.0])  # what a whole share of each channel is worth


def moved_frame(
    units: int = 150, days: int = 20, lift: float = 0.5, noise: float = 0.3, seed: int = 0
) -> pd.DataFrame:
    """A move brings `lift` + SLOPE · Δp on its day (column `effect`); a unit of traffic brings 1,
    moved or not.
    """
    rng = np.random.default_rng(seed)
    size, category = rng.standard_normal(units), rng.integers(0, 3, units)
    shares = rng.dirichlet([6.0, 6.0, 6.0], units)
    shock = rng.normal(
        0, 1, (days, 3)
    )  # what only controls of the same date and category can take away
    parts: list[pd.DataFrame] = []
    for day in range(days):
        traffic = rng.standard_normal(units)
        moving = rng.random(units) < 1 / (1 + np.exp(1.2 - 0.7 * traffic))
        direction = edge_directions(3)[rng.integers(0, 6, units)]
        step = np.minimum(
            rng.uniform(0.05, 0.2, units), (shares * (direction < 0)).sum(axis=1)
        )
        change = np.where(moving & (day > 0), step, 0)[:, None] * direction
        shares = np.maximum(shares + change, 0)
        shares /= shares.sum(axis=1, keepdims=True)
        has_moved = np.abs(change).sum(axis=1) > 0
        effect = np.where(has_moved, lift + change @ SLOPE, 0.0)
        orders = (
            10
            + traffic
            + size
            + shock[day, category]
            + effect
            + noise * rng.standard_normal(units)
        )
        parts.append(
            pd.DataFrame(
                {
                    "item": [f"i{u:04d}" for u in range(units)],
                    "date": FIRST + timedelta(days=day),
                    **dict(zip(SCHEMA.channels, shares.T, strict=True)),
                    "budget": np.exp(4 + 0.3 * rng.standard_normal(units)),
                    "traffic": traffic,
                    "size": size,
                    "category": np.array(["toys", "books", "food"])[category],
                    "orders": orders,
                    "gmv": 2 * orders,
                    "effect": effect,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def read(frame: pd.DataFrame) -> Logs:
    return read_logs(frame, SCHEMA, today=date(2100, 1, 1))


def true_gain(asked: Logs, to: np.ndarray) -> np.ndarray:
    """What a policy that knows the truth would say."""
    return (to - asked.shares) @ SLOPE
