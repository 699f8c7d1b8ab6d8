"""Gains near a row's shares by polynomials, by which a search compares ends.

Where they have few terms they are polynomials of the move; else a sum of polynomials of what each
unit of the student sees. `learn/student/local_polynomial.py` makes them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Integers, Rows, channels_first

Floats32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SteepUnits:
    """Units that bend too fast for a polynomial: what each sees at n starts and along a move."""

    numbers: Integers  # (S,) of all units
    argument: Floats  # (n, S)
    height: Floats  # (n, S) in units of the outcome
    slopes: Floats  # (K, S)

    def __call__(self, rows: Rows, way: Floats) -> Floats:
        """What they give at moves (K, a, m) from the starts of some of the rows: (a, m)."""
        value = np.zeros(way.shape[1:])
        for unit in range(len(self.numbers)):
            at_start = self.argument[rows, unit, None]
            seen = at_start + np.tensordot(self.slopes[:, unit], way, 1)
            bent = _silu(seen) - _silu(at_start)
            value += self.height[rows, unit, None] * bent
        return value


@dataclass(frozen=True, eq=False)
class Polynomials:
    """Of n rows: Σ_α c_α d^α at the move d from the row's own start, in D = K − 1 directions.

    Or Σ_j Σ_m b_jm t_j^m, where unit j sees t_j = ⟨slope_j, move⟩, and what is linear anyway. Only
    one of both is there: coefficients without columns mean the second.
    """

    start: Floats  # (n, K)
    degree: int
    axes: Floats  # (K, D) from a difference of shares to d
    coefficients: Floats32  # (n, terms), in the order of `exponents`
    slopes: Floats  # (K, U)
    bends: Floats32  # (n, degree, U), of t, t², …
    linear: Floats  # (n, K) per share
    steep: SteepUnits

    def __call__(self, rows: Rows, start: Floats, ends: Floats) -> Floats:
        """Gains of starts (a, K) → ends (a, m, K) of some of the rows: (a, m)."""
        gain = self._value(rows, ends)
        at_home = not (start != self.start[rows]).any()  # there it is 0
        return gain if at_home else gain - self._value(rows, start[:, None])

    def _value(self, rows: Rows, places: Floats) -> Floats:
        way = channels_first(places) - self.start[rows].T[..., None]  # (K, a, m)
        if self.coefficients.shape[1]:
            d = [(axis[:, None, None] * way).sum(axis=0) for axis in self.axes.T]
            coefficients = self.coefficients[rows].T.astype(np.float64)
            value = evaluate(iter(coefficients[..., None]), d, self.degree)
        else:
            value = self._sum_units(rows, way)
        return value + self.steep(rows, way)

    def _sum_units(self, rows: Rows, way: Floats) -> Floats:
        t = np.tensordot(way, self.slopes, (0, 0))  # (a, m, U)
        bends = self.bends[rows].astype(np.float64)[:, :, None]  # (a, degree, 1, U)
        bent = np.zeros_like(t)
        for power in range(self.degree - 1, -1, -1):
            bent = (bent + bends[:, power]) * t
        return bent.sum(axis=-1) + (self.linear[rows].T[..., None] * way).sum(axis=0)


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


def evaluate(coefficients: Iterator[Floats], d: Sequence[Floats], degree: int) -> Floats:
    """The polynomial at moves d, D times (a, m).

    Horner's rule in the last direction, with polynomials of the others as coefficients.
    """
    if len(d) == 0:
        return next(coefficients)
    value = evaluate(coefficients, d[:-1], 0)
    for power in range(degree - 1, -1, -1):
        value = value * d[-1]
        value = value + evaluate(coefficients, d[:-1], degree - power)
    return value


def _silu(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x))
