"""Draw logs: items × days in blocks, each with its own named streams, so threads change nothing."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, Integers
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
    def days(self) -> Integers:
        """Days since 1970, (periods,)."""
        first = (self.first_day - EPOCH).days
        return np.arange(first, first + self.periods)


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    """The growing columns of one sample, filled block by block."""

    features: NDArray[np.float32]  # (3d, n)
    shares: Floats  # (K, n)
    budget: Floats  # (n,)
    outcome: Floats  # (n,)


def channel_names(channels: int) -> tuple[str, ...]:
    """ads, coupon, rebate, channel_4, …"""
    further = [f"channel_{k + 1}" for k in range(len(CHANNEL_NAMES), channels)]
    return (*CHANNEL_NAMES[:channels], *further)


def draw_logs(
    seed: int, policy: LoggingPolicy, response: ResponseWeights, request: SampleRequest
) -> Logs:
    """Logs of `request.units` items over `request.periods` days in the world of `seed`."""
    parameters = policy.parameters
    days = request.periods
    rows = request.units * days
    names = feature_names(parameters)
    columns = DrawnColumns(
        features=np.empty((len(names), rows), np.float32),
        shares=np.empty((policy.channels, rows)),
        budget=np.empty(rows),
        outcome=np.empty(rows),
    )
    shocks = draw_shocks(seed, request.days, parameters)
    block_items = max(1, BLOCK_ROWS // days)

    def fill(block: int) -> None:
        """State, budget, logged action and outcome of one block of items."""
        key = (seed, "sample", request.seed, block)
        first = block * block_items
        count = min(block_items, request.units - first)
        n = count * days
        part = slice(first * days, first * days + n)
        items = draw_items(key, count, parameters)
        H = columns.features[:, part]
        H.reshape(len(H), -1, days)[:] = items[:, :, None] + shocks[:, None, :]
        budget = draw_budget(stream(*key, "budget"), H, policy.weights.a_B, parameters)
        columns.budget[part] = budget
        state = state_of_features(H, budget, request.window)
        normals = stream(*key, "allocation").standard_normal((n, policy.channels - 1)).T
        shares = policy.law(state).sample(normals, stream(*key, "exploration").random(n))
        columns.shares[:, part] = shares.T
        noise = parameters.noise * stream(*key, "noise").standard_normal(n)
        columns.outcome[part] = (
            open_surface(state, response, parameters).value(shares) + noise
        )

    blocks = range(-(-request.units // block_items))
    with ThreadPoolExecutor(min(len(blocks), os.cpu_count() or 1)) as pool:
        list(pool.map(fill, blocks))
    return _to_logs(columns, request, names)


def _to_logs(columns: DrawnColumns, request: SampleRequest, names: tuple[str, ...]) -> Logs:
    schema = Schema(
        unit="item_id",
        time="date",
        outcome="orders",
        channels=channel_names(len(columns.shares)),
        budget="budget",
        features=names,
    )
    units = pa.array([f"s{request.seed}-item-{i:06d}" for i in range(request.units)])
    codes = np.repeat(np.arange(request.units, dtype=np.int32), request.periods)
    days = np.tile(request.days.astype(np.int32), request.units)
    table = {
        schema.unit: pa.DictionaryArray.from_arrays(pa.array(codes), units),
        schema.time: pa.array(days).view(pa.date32()),
        "budget": pa.array(columns.budget),
        **dict(zip(schema.channels, map(pa.array, columns.shares), strict=True)),
        schema.outcome: pa.array(columns.outcome),
        **dict(zip(names, map(pa.array, columns.features), strict=True)),
    }
    return Logs(schema=schema, table=pa.table(table), features=names)


def parse_day(day: date | str) -> date:
    """A date, or its ISO text."""
    try:
        return date.fromisoformat(day) if isinstance(day, str) else day
    except ValueError as problem:
        raise ConfigError(
            f"Expected a first day such as 2025-01-01, got {day!r}."
        ) from problem
