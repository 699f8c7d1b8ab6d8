"""Gains near a row's shares as polynomials of the move, by which a search compares ends.

`learn/student/local_polynomial.py` makes them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Rows, channels_first

Floats32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Polynomials:
    """Of n rows: Σ_α c_α d^α at the move d from the row's own start, in D = K − 1 directions."""

    coefficients: Floats32  # (n, terms), in the order of `exponents`
    start: Floats  # (n, K)
    axes: Floats32  # (K, D) from a difference of shares to d
    degree: int

    def __call__(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """Gains of starts (a, K) → ends (a, m, K) of some of the rows: (a, m)."""
        gain = self._value(rows, ends)
        at_home = not (start != self.start[rows]).any()  # there it is 0
        return gain if at_home else gain - self._value(rows, start[:, None])

    def _value(self, rows: Rows, places: Floats) -> Floats32:
        way = (channels_first(places) - self.start[rows].T[..., None]).astype(np.float32)
        d = [(axis[:, None, None] * way).sum(axis=0) for axis in self.axes.T]
        return evaluate(iter(self.coefficients[rows].T[..., None]), d, self.degree)


def exponents(dimensions: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Exponents of all terms up to a degree, in the order in which `evaluate` asks for them.

    >>> list(exponents(2, 1))
    [(0, 1), (1, 0), (0, 0)]
    """
    if dimensions == 0:
        yield ()
        return
    for power in range(degree, -1, -1):
        for rest in exponents(dimensions - 1, degree - power):
            yield (*rest, power)


def evaluate(
    coefficients: Iterator[Floats32], d: Sequence[Floats32], degree: int
) -> Floats32:
    """The polynomial at moves d, D times (a, m).

    Horner's rule in the last direction, with polynomials of the others as coefficients.
    """
    if len(d) == 0:
        return next(coefficients)
    value = evaluate(coefficients, d[:-1], 0)
    for power in range(degree - 1, -1, -1):
        value = value * d[-1]
        value += evaluate(coefficients, d[:-1], degree - power)
    return value
