"""A shop whose orders rise with coupons while its sales fall, with zeros and channels that some
items never used.
"""

import copy
from dataclasses import replace
from datetime import date, timedelta
from functools import cache

import numpy as np
import pandas as pd

from realloc import ReAlloc, Schema
from tests.small import CONFIG

CHANNELS = ["ads", "coupon", "rebate"]
SHOP = Schema(unit="item", time="date", outcome="orders", channels=CHANNELS)
GUARDED = replace(SHOP, guardrails=("gmv",))
KERNEL = replace(
    CONFIG, teacher=replace(CONFIG.teacher, surfaces=("kernel",))
)  # networks learn nothing from 300 rows
# A second of learning, after which gains of a world without much noise are close to the truth.
CLOSE = replace(
    KERNEL,
    kernel=replace(KERNEL.kernel, inducing=150, steps=80, rows=400),
    student=replace(KERNEL.student, epochs=20, width=32),
)


def shop(units: int = 50, days: int = 6, seed: int = 0, zeros: bool = True) -> pd.DataFrame:
    """Every third item never uses rebate; of the others a quarter of the rows do not."""
    random = np.random.default_rng(seed)
    n = units * days
    item = np.repeat(np.arange(units), days)
    price = random.normal(size=units)[item] + 0.2 * random.normal(size=n)
    spend = random.gamma(3.0, 60.0, (n, 3)) * np.exp(0.3 * price[:, None] * [1, -1, 0]) + 1
    if zeros:
        spend[(item % 3 == 0) | (random.random(n) < 0.25), 2] = 0.0
    spend = spend.round(2)
    share = spend / spend.sum(axis=1, keepdims=True)
    return pd.DataFrame(
        {
            "item": [f"s{seed}i{i:03d}" for i in item],
            "date": [
                date(2025, 1, 6) + timedelta(days=d)
                for _ in range(units)
                for d in range(days)
            ],
            "ads": spend[:, 0],
            "coupon": spend[:, 1],
            "rebate": spend[:, 2],
            "orders": 50 + 40 * share[:, 1] + 5 * price + random.normal(size=n),
            "gmv": 500 - 300 * share[:, 1] + 20 * price + 5 * random.normal(size=n),
            "price": price,
            "kind": np.where(item % 2, "toys", "books"),
        }
    )


@cache
def _advised(zeros: bool, guarded: bool) -> ReAlloc:
    frame = shop(zeros=zeros)
    if not guarded:
        frame = frame.drop(columns="gmv")
    return ReAlloc(KERNEL, schema=GUARDED if guarded else SHOP, quiet=True).fit(frame)


def advised(zeros: bool = True, guarded: bool = False, **decision) -> ReAlloc:
    """A fitted model of its own, with other settings of [decision] if wanted."""
    model = copy.copy(_advised(zeros, guarded))
    model.config = replace(
        model.config, decision=replace(model.config.decision, **decision)
    )
    return model


def asked(rows: int = 60, zeros: bool = True, seed: int = 0) -> pd.DataFrame:
    """Today's rows: the last days of the items that were learned from, or of new ones."""
    frame = shop(zeros=zeros, seed=seed).drop(columns=["orders", "gmv"])
    return frame.sample(frac=1, random_state=1).head(rows).reset_index(drop=True)
