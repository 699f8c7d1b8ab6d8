# pyright: reportUnknownParameterType=false
# (pyarrow ships no types: its tables and arrays are unknown to the checker)
"""Columns of the marketplace's logs, and a day of a block of items as an Arrow table."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.logs import Schema
from realloc.world.platform.items import GRID, Items
from realloc.world.platform.simulation import Day, MarketRules

UNIT = "item_id"
TIME = "date"
BUDGET = "budget"
OUTCOME = "orders"
PROPENSITY = "propensity"
EXPLORATION = "exploration"
GUARDRAILS = ("gmv", "income")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

MEANINGS = {
    UNIT: "<sample seed>-<item number>",
    TIME: "day",
    "category": "first-level category",
    "weekday": "day of the week",
    "log_price": "logarithm of the list price",
    "orders_lag_1": "yesterday's orders",
    "orders_lag_mean_7": "mean of orders over the seven days before",
    "orders_lag_trend_7": "mean of orders over the three days before minus mean of the four "
    "before those",
    "share_<channel>_prev": "yesterday's share of the channel",
    "open_<channel>": "the item has used the channel at some time; a closed channel stays at "
    "share 0",
    BUDGET: "the day's money, set before the split",
    "<channel>": "share of the budget, a whole number of thousandths",
    OUTCOME: "logarithm of the day's paid orders: +0.018 is 1.8 % more orders",
    "gmv": "logarithm of the day's merchandise value",
    "income": "logarithm of the day's platform income after channel costs",
    EXPLORATION: "the item is under randomized exploration",
    PROPENSITY: "probability of the drawn move under exploration; NaN on routine rows",
}


def feature_names(channels: tuple[str, ...]) -> tuple[str, ...]:
    """All pre-decision columns besides the budget."""
    return (
        "category",
        "weekday",
        "log_price",
        "orders_lag_1",
        "orders_lag_mean_7",
        "orders_lag_trend_7",
        *(f"share_{name}_prev" for name in channels),
        *(f"open_{name}" for name in channels),
    )


def make_schema(channels: tuple[str, ...]) -> Schema:
    """The schema of the logs: shares of a budget, two guardrails, propensities where randomized."""
    return Schema(
        unit=UNIT,
        time=TIME,
        outcome=OUTCOME,
        channels=channels,
        budget=BUDGET,
        features=feature_names(channels),
        guardrails=GUARDRAILS,
        propensity=PROPENSITY,
    )


def day_table(rules: MarketRules, names: pa.Array, items: Items, day: Day) -> pa.Table:
    """One row per item, in the order of the items."""
    n = len(items)
    today = rules.date_of(day.day)
    channels = rules.catalogue.channels
    categories = tuple(f"category_{c + 1:02d}" for c in range(len(rules.catalogue.weight)))
    columns: dict[str, Any] = {
        UNIT: pa.DictionaryArray.from_arrays(pa.array(np.arange(n, dtype=np.int32)), names),
        TIME: pa.repeat(pa.scalar(today, pa.date32()), n),
        "category": _coded(items.category, categories),
        "weekday": _coded(np.full(n, today.weekday(), dtype=np.int32), WEEKDAYS),
        "log_price": _single(items.log_price),
        "orders_lag_1": _single(day.past.last),
        "orders_lag_mean_7": _single(day.past.mean),
        "orders_lag_trend_7": _single(day.past.trend),
    }
    for k, channel in enumerate(channels):
        columns[f"share_{channel}_prev"] = _single(day.before[:, k] / GRID)
    for k, channel in enumerate(channels):
        columns[f"open_{channel}"] = pa.array(items.opened[:, k])
    columns[BUDGET] = pa.array(day.budget)
    for k, channel in enumerate(channels):
        columns[channel] = pa.array(day.shares[:, k] / GRID)
    for name, values in day.outcomes.items():
        columns[name] = pa.array(values)
    columns[EXPLORATION] = pa.array(items.explored)
    columns[PROPENSITY] = pa.array(day.propensity)
    return pa.table(columns)


def _coded(codes: NDArray[np.int32], words: tuple[str, ...]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words, pa.string()))


def _single(values: NDArray[np.floating]) -> pa.Array:
    return pa.array(values.astype(np.float32))
