"""Rows in tiles of one fixed size, so that a row's answer does not depend on its companions.

A matrix product rounds a row differently alone and among others. Here every product has the shape
of one tile, the last one filled up: a row gives the same sums in any batch, at any place of it.
Within a tile processors differ, too: with AVX2 OpenBLAS takes six rows of sixteen in one way and
four in another. So the size of a tile is the largest at which this processor treats all places
alike, for float32 and float64 each. And how many threads share a product counts: here it is one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.numerics.blas import one_blas_thread

SIZES = (16, 8, 4, 2)
AT_ONCE = 512  # rows, so that memory stays bounded


def choose_size(kind: Any, product: Callable[[Any, Any], NDArray[Any]] = np.matmul) -> int:
    """The largest size of a tile at which equal rows give equal sums at all places of it; else 1.

    >>> choose_size(np.float32, lambda x, w: np.add.outer(np.arange(len(x)) // 4, w[0]))
    4
    """
    random = np.random.default_rng(0)
    shapes = [(k, n) for k in (3, 19, 67, 128, 1000) for n in (2, 17, 64, 250)]
    probes = [random.normal(size=shape).astype(kind) for shape in shapes]

    def alike(size: int, w: NDArray[Any]) -> bool:
        found = product(np.repeat(w[None, :, 0], size, axis=0), w)
        return bool((found == found[0]).all())

    with one_blas_thread:
        return next((size for size in SIZES if all(alike(size, w) for w in probes)), 1)


TILE = {np.dtype(kind): choose_size(kind) for kind in (np.float32, np.float64)}


def cut(values: NDArray[Any], tile: int) -> NDArray[Any]:
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
    return tiles.reshape(len(tiles) * tiles.shape[1], *tiles.shape[2:])[:rows]


def multiply(tiles: NDArray[Any], w: NDArray[Any]) -> NDArray[Any]:
    """The product of tiles (…, T, k) with w (…, k, m); a tile of few rows is filled up for it."""
    rows = tiles.shape[-2]
    tile = TILE[tiles.dtype]
    if rows == tile:
        return tiles @ w
    if w.ndim > 2:
        return (fill(tiles) @ w)[..., :rows, :]
    together = tiles.reshape(-1, tiles.shape[-1])  # the few rows of all tiles fill one
    product = join(cut(together, tile) @ w, len(together))
    return product.reshape(*tiles.shape[:-1], w.shape[-1])


def fill(tiles: NDArray[Any]) -> NDArray[Any]:
    """Tiles of few rows (…, n, k) with rows of zeros after them."""
    filled = np.zeros((*tiles.shape[:-2], TILE[tiles.dtype], tiles.shape[-1]), tiles.dtype)
    filled[..., : tiles.shape[-2], :] = tiles
    return filled


def in_tiles(
    compute: Callable[..., NDArray[Any]], *values: NDArray[Any], at_once: int = AT_ONCE
) -> NDArray[Any]:
    """Rows of `compute(tiles of each of the values)`, all of one dtype, some tiles at a time.

    Fewer rows than a tile come as they are: only `multiply` fills them up.
    """
    n = len(values[0])
    tile = TILE[values[0].dtype]
    parts: list[NDArray[Any]] = []
    with one_blas_thread:
        if 0 < n < tile:
            return join(compute(*(value[None] for value in values)), n)
        for first in range(0, max(n, 1), at_once):
            tiles = [cut(value[first : first + at_once], tile) for value in values]
            parts.append(join(compute(*tiles), min(at_once, n - first)))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]
