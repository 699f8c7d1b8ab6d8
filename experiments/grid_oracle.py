"""The best supported grid point of a world: an upper bound on what any search can gain."""

from math import comb

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats
from realloc.logs import Logs
from realloc.world import State, World
from realloc.world.oracle import search_local

MOST_GRID_POINTS = 200_000
GRID_BATCH = 500_000  # allocations scored at a time


def search_global(world: World, state: Logs | State, start: Floats) -> Floats:
    """The best of all supported grid points and Oracle Local: an upper bound, (n, K)."""
    grid = simplex_grid(world.channels, world.parameters.grid)
    surface = world.surface(state)
    region = world.region(state)
    shares = np.array(search_local(world, state, start).shares)
    value = surface.value(shares)
    size = max(1, GRID_BATCH // len(grid))
    for first in range(0, len(start), size):
        rows = np.arange(first, min(first + size, len(start)))
        ends = np.broadcast_to(grid, (len(rows), *grid.shape))
        intervals = world.parameters.path_intervals
        reached = region.take(rows).path_inside(start[rows], ends, intervals)
        row, column = np.nonzero(reached)
        values = surface.take(rows[row]).value(grid[column])
        best = np.full(len(rows), -np.inf)
        np.maximum.at(best, row, values)
        winner = (values == best[row]) & (values > value[rows[row]])
        shares[rows[row[winner]]] = grid[column[winner]]
    return shares


def simplex_grid(channels: int, parts: int) -> Floats:
    """All shares in multiples of 1/parts, (C(parts+K−1, K−1), K).

    >>> simplex_grid(2, 2).tolist()
    [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    """
    size = comb(parts + channels - 1, channels - 1)
    if size > MOST_GRID_POINTS:
        raise ConfigError(
            f"Expected at most {MOST_GRID_POINTS:,} grid points, got {size:,} for {channels} "
            f"channels in steps of 1/{parts}. Use a coarser grid."
        )
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(channels - 1):
        left = parts - rows.sum(axis=1)
        parent = np.repeat(np.arange(len(rows)), left + 1)
        value = np.arange(len(parent)) - np.repeat(
            np.cumsum(left + 1) - (left + 1), left + 1
        )
        rows = np.column_stack([rows[parent], value])
    return np.column_stack([rows, parts - rows.sum(axis=1)]) / parts
