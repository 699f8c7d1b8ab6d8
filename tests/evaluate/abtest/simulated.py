"""A marketplace test to read out: orders, GMV, cost and profit of items, the same from before,
and predicted gains.
"""

import numpy as np
import pandas as pd

from realloc.evaluate.abtest import AbtestConfig, parse_abtest

METRICS = {
    "orders": {"value": "orders", "before": "orders_before"},
    "gmv": {"value": "gmv", "before": "gmv_before", "margin": 5.0},
    "cost": {"value": "cost", "direction": "down", "margin": 5.0},
    "roi": {
        "numerator": "gmv",
        "denominator": "cost",
        "numerator_before": "gmv_before",
        "denominator_before": "cost_before",
    },
    "margin": {"numerator": "profit", "denominator": "gmv", "effect": "points"},
}
CALM = {**METRICS, "cost": {**METRICS["cost"], "margin": 20.0}}


def make_config(**changes) -> AbtestConfig:
    return parse_abtest({"unit": "item", "metrics": METRICS, **changes})


def make_arms(
    units: int = 2000,
    seed: int = 0,
    lift: float = 0.0,
    split: float = 0.5,
    realised: float = 1.0,
) -> pd.DataFrame:
    """One row per item. `lift` raises orders of treated items by that part; of the predicted gain,
    `realised` comes true.
    """
    rng = np.random.default_rng(seed)
    size = rng.gamma(4.0, 5.0, units)
    treated = rng.permutation(units) < round(split * units)
    gain = np.where(rng.random(units) < 0.5, rng.gamma(2.0, 1.0, units), 0.0)
    before = rng.poisson(size)
    orders = rng.poisson(size * (1 + lift * treated)) + treated * gain * (
        realised if lift == 0 else 0.0
    )
    price = rng.lognormal(3.0, 0.3, units)
    cost = rng.gamma(20.0, 1.0, units) * size
    return pd.DataFrame(
        {
            "item": [f"i{i}" for i in range(units)],
            "arm": np.where(treated, "treatment", "control"),
            "orders": orders.astype(float),
            "gmv": orders * price,
            "cost": cost,
            "profit": orders * price * rng.normal(0.2, 0.05, units),
            "orders_before": before.astype(float),
            "gmv_before": before * price,
            "cost_before": rng.gamma(20.0, 1.0, units) * size,
            "gain": gain,
            "gain_lower": gain - 0.5,
        }
    )
