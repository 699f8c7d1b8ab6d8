"""The potential around a row's shares as a polynomial, for the search.

Places near a row are then cheap to compare.

On a way of at most `radius`, unit j of the student sees an argument of at most r_j = ‖g_j‖ away
from the one at the start, where g_j is the slope of its argument along K − 1 directions of moves.
There σ is a polynomial of its argument, by its values at Chebyshev's nodes, so that their sum is
one in the move d:

s(start + d) − s(start) ≈ Σ_α c_α d^α,   c_α = Σ_j w_j c_j,|α| (α choose) (g_j / r_j)^α

What a search finds is valued by the network itself.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb, factorial, prod

import numpy as np

from realloc.base.numerics.row_stable import in_tiles
from realloc.base.simplex import Floats, Integers, tangent_basis
from realloc.decide.search.polynomials import Polynomials, exponents
from realloc.learn.networks.forward import silu
from realloc.learn.scaling import Floats32

DEGREE = 6  # even, so that the start is a node and its value exact
# Chebyshev's nodes, from −1 to 1, and what makes coefficients of powers from values at them.
NODES = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1)).astype(np.float32)
FIT = np.linalg.inv(np.vander(NODES.astype(np.float64), increasing=True)).astype(np.float32)
MOST = 210  # coefficients; beyond, the network itself is not slower
# Reach of a unit. Beyond, σ is not a polynomial of this degree: at 3 it is off by 0.006 at most.
FURTHEST = 3.0


@dataclass(frozen=True, eq=False)
class Trunk:
    """What n states make of U units of a student, members side by side."""

    directions: Floats32  # V (K, U)
    argument: Floats32  # at the start (n, U)
    w: Floats32  # (n, U)
    a: Floats32  # summed over members (n, K)


def near(
    trunk: Trunk | None, inverse: Floats32, scale: float, start: Floats, radius: float
) -> Polynomials | None:
    """Gains of ways of at most `radius` around `start` (n, K), by polynomials.

    None where those are not faster, or not near.

    `inverse` makes scaled shares of shares, `scale` is the outcome's unit over the number of
    members.
    """
    Q = tangent_basis(start.shape[1])
    along = (inverse[:, None] * Q * radius).astype(np.float32)  # (K, D)
    bend = (
        None
        if trunk is None
        else _bend((along.T @ trunk.directions).T.tobytes(), len(along.T))
    )
    if (
        trunk is None
        or bend is None
        or bend.terms > MOST
        or bend.reach.max(initial=0) > FURTHEST
    ):
        return None
    coefficients = bend.coefficients(trunk.argument, trunk.w)
    own, _ = bend.by_degree[0]
    coefficients[:, own] += (trunk.a[:, None] @ along[:, ::-1])[
        :, 0
    ]  # the last direction's term comes first
    coefficients *= np.float32(scale)
    return Polynomials(coefficients, start, (Q / radius).astype(np.float32), DEGREE)


@lru_cache(maxsize=16)
def _bend(slopes: bytes, dimensions: int) -> "Bend":
    """Made once for a model: its directions are the same for all rows."""
    return Bend(np.frombuffer(slopes, np.float32).reshape(-1, dimensions))


@dataclass(frozen=True, eq=False)
class Bend:
    """What is the same for every row: of U units, the reach and the terms of their powers."""

    slopes: Floats32  # g (U, D), of ways of length `radius`

    @cached_property
    def reach(self) -> Floats32:
        """r (U,)."""
        return np.maximum(np.sqrt(np.square(self.slopes).sum(axis=1)), np.float32(1e-12))

    @property
    def terms(self) -> int:
        """How many."""
        return comb(DEGREE + self.slopes.shape[1], DEGREE)

    @cached_property
    def by_degree(self) -> list[tuple[Integers, Floats32]]:
        """For degrees 1 and up: which terms, and what a unit's coefficient of the degree gives to
        each (U, terms).
        """
        unit = self.slopes / self.reach[:, None]
        powers = np.array(list(exponents(unit.shape[1], DEGREE)))
        parts = np.prod(unit[:, None].astype(np.float64) ** powers, axis=-1) * [
            _arrangements(one) for one in powers
        ]
        degrees = powers.sum(axis=1)
        places = [np.flatnonzero(degrees == degree) for degree in range(1, DEGREE + 1)]
        return [
            (own, np.ascontiguousarray(parts[:, own], dtype=np.float32)) for own in places
        ]

    def coefficients(self, argument: Floats32, w: Floats32) -> Floats32:
        """Of rows with arguments at their start (n, U) and weights (n, U): (n, terms)."""
        return in_tiles(self._coefficients, argument, w)

    def _coefficients(self, argument: Floats32, w: Floats32) -> Floats32:
        values = np.stack(
            [silu(argument + step) * w for step in NODES[:, None] * self.reach], axis=1
        )
        count, nodes, T, U = values.shape
        powers = (FIT @ values.reshape(count, nodes, T * U)).reshape(
            values.shape
        )  # (t, degree + 1, T, U)
        found = np.zeros((count, T, self.terms), np.float32)
        for degree, (own, parts) in enumerate(self.by_degree, 1):
            found[..., own] = powers[:, degree] @ parts
        return found


def _arrangements(powers: Integers) -> int:
    """How often a term occurs in the power of a sum: 2 for d₁d₂ in (d₁ + d₂)²."""
    return factorial(int(powers.sum())) // prod(factorial(int(one)) for one in powers)
