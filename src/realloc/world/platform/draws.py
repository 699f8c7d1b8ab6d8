"""Randomness by name and place: U(name, day)[i] is item i's draw in any block of items.

A stream is keyed by the root seeds, the draw's name and the day; item i owns the i-th number of it.
A block of items jumps to its first number, so that neither the block size nor the number of items
changes anybody's draws.
"""

import zlib
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from realloc.base.simplex import Floats, Rows

EARLIEST_DAY = -64  # streams exist for warm-up days before the first day too
SMALLEST = 2.0**-54  # a uniform draw can be exactly 0, whose normal quantile is not finite


@dataclass(frozen=True)
class Draws:
    """The draws of the items `first` … `first + count − 1` under root seeds.

    >>> whole, part = Draws((1, 0), 0, 10), Draws((1, 0), 4, 3)
    >>> bool((whole.uniform("noise", 2)[4:7] == part.uniform("noise", 2)).all())
    True
    """

    root: tuple[int, ...]
    first: int
    count: int

    def uniform(self, name: str, day: int = 0) -> Floats:
        """One uniform draw in [0, 1) per item."""
        key = (*self.root, zlib.crc32(name.encode()), day - EARLIEST_DAY)
        # `random` takes one step of the generator per number: the i-th is `advance(i)` away.
        bits = np.random.PCG64(np.random.SeedSequence(key)).advance(self.first)
        return np.random.Generator(bits).random(self.count)

    def normal(self, name: str, day: int = 0) -> Floats:
        """One standard normal draw per item, Φ⁻¹(U)."""
        return ndtri(np.maximum(self.uniform(name, day), SMALLEST))

    def uniforms(self, name: str, columns: int) -> Floats:
        """Uniform draws (count, columns), a stream per column."""
        return np.stack([self.uniform(f"{name}.{k}") for k in range(columns)], axis=1)

    def normals(self, name: str, columns: int) -> Floats:
        """Standard normal draws (count, columns), a stream per column."""
        return np.stack([self.normal(f"{name}.{k}") for k in range(columns)], axis=1)


def choose(uniform: Floats, weights: Floats) -> Rows:
    """Inverse-CDF draw of a column of `weights` (n, M) ≥ 0 per row, from one uniform each.

    Rows need not sum to 1. A column of weight 0 is never drawn: U < 1 keeps U·total below the total
    also after rounding.
    """
    cumulative = np.cumsum(weights, axis=1)
    return np.argmax(cumulative > (uniform * cumulative[:, -1])[:, None], axis=1)


def row_sum(values: Floats) -> Floats:
    """Σ over the columns of (n, M), first to last; numpy's order depends on the layout."""
    total = np.zeros(len(values))
    for column in values.T:
        total += column
    return total
