"""Rows in tiles of one fixed size, so that a row's answer does not depend on its companions.

A matrix product rounds a row differently alone and among others. Here every product has the shape of one tile, the last one
filled up: the same row gives the same bits in any batch, at any place of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

TILE = 16
AT_ONCE = 64  # tiles, so that memory stays bounded


def cut(values: NDArray[Any], tile: int = TILE) -> NDArray[Any]:
    """Rows (n, …) as tiles (t, tile, …); the last one is filled with its last row.

    >>> cut(np.array([[1.0], [2.0], [3.0]]), 2)[..., 0].tolist()
    [[1.0, 2.0], [3.0, 3.0]]
    """
    count = max(1, -(-len(values) // tile))
    last = values[-1:] if len(values) else np.zeros((1, *values.shape[1:]), values.dtype)
    filled = np.concatenate([values, np.repeat(last, count * tile - len(values), axis=0)])
    return filled.reshape(count, tile, *values.shape[1:])


def join(tiles: NDArray[Any], rows: int) -> NDArray[Any]:
    """Tiles (t, tile, …) as rows again, without what was filled in."""
    return tiles.reshape(-1, *tiles.shape[2:])[:rows]


def in_tiles(compute: Callable[..., NDArray[Any]], *values: NDArray[Any]) -> NDArray[Any]:
    """Rows of `compute(tiles of each of the values)`, a bounded number of tiles at a time."""
    n, size = len(values[0]), AT_ONCE * TILE
    parts = [
        join(compute(*(cut(value[first : first + size]) for value in values)), min(size, n - first))
        for first in range(0, max(n, 1), size)
    ]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]
