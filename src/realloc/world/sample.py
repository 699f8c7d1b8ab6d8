"""Draw logs: items × days in blocks of bounded size, each with its own named streams, so threads change nothing."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.logs import Logs, Schema
from realloc.world.draws import stream
from realloc.world.logging_policy import LoggingPolicy
from realloc.world.response import ResponseWeights, open_surface
from realloc.world.state import (
    draw_budget,
    draw_items,
    draw_shocks,
    feature_names,
    state_of_features,
)

CHANNEL_NAMES = ("ads", "coupon", "rebate")
BLOCK_ROWS = 32_768  # per block of work: small enough for the cache, large enough for numpy
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """Which items and days to draw. Items of different seeds are different items."""

    units: int
    periods: int
    seed: int
    first_day: date
    window: int | None = None

    def __post_init__(self) -> None:
        if self.units < 1 or self.periods < 1:
            raise ConfigError(
                f"Expected at least 1 unit and 1 period, got {self.units} and {self.periods}."
            )

    @property
    def days(self) -> NDArray[np.int64]:
        """Days since 1970, (periods,)."""
        first = (self.first_day - EPOCH).days
        return np.arange(first, first + self.periods)


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    """The growing columns of one sample, filled block by block."""

    features: NDArray[np.float32]  # (3d, n)
    shares: NDArray[np.float64]  # (K, n)
    budget: NDArray[np.float64]  # (n,)
    outcome: NDArray[np.float64]  # (n,)


def channel_names(channels: int) -> tuple[str, ...]:
    """ads, coupon, rebate, channel_4, …"""
    return CHANNEL_NAMES[:channels] + tuple(
        f"channel_{k + 1}" for k in range(len(CHANNEL_NAMES), channels)
    )


def world_schema(channels: int, features: tuple[str, ...]) -> Schema:
    """Which column is which in the logs of a world."""
    return Schema(
        unit="item_id",
        time="date",
        outcome="orders",
        channels=channel_names(channels),
        budget="budget",
        features=features,
    )


@dataclass(frozen=True, eq=False)
class Recipe:
    """What every block of a sample shares."""

    policy: LoggingPolicy
    response: ResponseWeights
    shocks: NDArray[np.float32]  # (3d, periods)
    window: int | None


def draw_logs(
    seed: int, policy: LoggingPolicy, response: ResponseWeights, request: SampleRequest
) -> Logs:
    """Logs of `request.units` items over `request.periods` days, item by item, in the world of `seed`."""
    rows, names = request.units * request.periods, feature_names(policy.parameters)
    features, shares = np.empty((len(names), rows), np.float32), np.empty((policy.channels, rows))
    columns = DrawnColumns(features, shares, np.empty(rows), np.empty(rows))
    recipe = Recipe(
        policy, response, draw_shocks(seed, request.days, policy.parameters), request.window
    )
    items = max(1, BLOCK_ROWS // request.periods)

    def fill(block: int) -> None:
        first, last = block * items, min((block + 1) * items, request.units)
        part = slice(first * request.periods, last * request.periods)
        fill_block((seed, "sample", request.seed, block), columns, part, recipe)

    _spread(fill, -(-request.units // items))
    return _to_logs(columns, request, names)


def fill_block(
    key: tuple[int | str, ...], columns: DrawnColumns, part: slice, recipe: Recipe
) -> None:
    """State, budget, logged action and outcome of the rows `part`."""
    policy, parameters = recipe.policy, recipe.policy.parameters
    n, days = part.stop - part.start, recipe.shocks.shape[1]
    items = draw_items(key, n // days, parameters)
    H = columns.features[:, part]
    H.reshape(len(H), -1, days)[:] = items[:, :, None] + recipe.shocks[:, None, :]
    columns.budget[part] = draw_budget(stream(*key, "budget"), H, policy.weights.a_B, parameters)
    state = state_of_features(H, columns.budget[part], recipe.window)
    normals = stream(*key, "allocation").standard_normal((n, policy.channels - 1)).T
    shares = policy.law(state).sample(normals, stream(*key, "exploration").random(n))
    columns.shares[:, part] = shares.T
    noise = parameters.noise * stream(*key, "noise").standard_normal(n)
    columns.outcome[part] = open_surface(state, recipe.response, parameters).value(shares) + noise


def _spread(work: Callable[[int], None], blocks: int) -> None:
    workers = min(blocks, os.cpu_count() or 1)
    if workers == 1:
        for block in range(blocks):
            work(block)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(blocks)))


def _to_logs(columns: DrawnColumns, request: SampleRequest, names: tuple[str, ...]) -> Logs:
    schema = world_schema(len(columns.shares), names)
    units = pa.array([f"s{request.seed}-item-{i:06d}" for i in range(request.units)])
    codes = np.repeat(np.arange(request.units, dtype=np.int32), request.periods)
    days = np.tile(request.days.astype(np.int32), request.units)
    table = {
        schema.unit: pa.DictionaryArray.from_arrays(pa.array(codes), units),
        schema.time: pa.array(days).view(pa.date32()),
        "budget": pa.array(columns.budget),
        **{
            name: pa.array(column)
            for name, column in zip(schema.channels, columns.shares, strict=True)
        },
        schema.outcome: pa.array(columns.outcome),
        **{name: pa.array(column) for name, column in zip(names, columns.features, strict=True)},
    }
    return Logs(schema=schema, table=pa.table(table), features=names)


def parse_day(day: date | str) -> date:
    """A date, or its ISO text."""
    try:
        return date.fromisoformat(day) if isinstance(day, str) else day
    except ValueError as problem:
        raise ConfigError(f"Expected a first day such as 2025-01-01, got {day!r}.") from problem
