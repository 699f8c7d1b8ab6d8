"""The potential around a row's shares by polynomials, for the search.

Places near a row are then cheap to compare.

On a way of at most `radius`, unit j of the student sees an argument of at most r_j = ‖g_j‖ away
from the one at the start, where g_j is the slope of its argument along K − 1 directions of moves.
There σ is a polynomial of its argument, by its values at Chebyshev's nodes:

w_j [σ(s_j + r_j t) − σ(s_j)] ≈ Σ_m b_jm t^m,   t = ⟨g_j, d⟩ / r_j

With few channels the sum over units is one polynomial of the move d:

s(start + d) − s(start) ≈ Σ_α c_α d^α,   c_α = Σ_j b_j|α| (α choose) (g_j / r_j)^α

The degree follows the reach of the units; the few that bend too fast for it stay as they are. What
a search finds is valued by the network itself.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb, factorial, prod

import numpy as np

from realloc.base.numerics.row_stable import TILE, fill, in_tiles, multiply
from realloc.base.simplex import Floats, Integers, tangent_basis
from realloc.decide.search.polynomials import Polynomials, SteepUnits, exponents
from realloc.learn.networks.forward import silu
from realloc.learn.scaling import Floats32

# Reach of a unit up to which σ is a polynomial of the degree to within 0.006. Degrees are even, so
# that the start is a node and its value exact.
REACH = {6: 3.0, 8: 4.04, 10: 5.06, 12: 6.06}
AT_ONCE = 64  # rows, with the values of their units at all nodes
STEEP_COST = 30  # multiplications that a unit costs as it is


@dataclass(frozen=True, eq=False)
class Trunk:
    """What n states make of U units of a student, members side by side."""

    directions: Floats32  # V (K, U)
    argument: Floats32  # at the start (n, U)
    w: Floats32  # (n, U)
    a: Floats32  # summed over members (n, K)


def near(
    trunk: Trunk, inverse: Floats32, scale: float, start: Floats, radius: float
) -> Polynomials:
    """Gains of ways of at most `radius` around `start` (n, K), by polynomials.

    `inverse` makes scaled shares of shares, `scale` is the outcome's unit over the number of
    members.
    """
    Q = tangent_basis(start.shape[1])
    radius = max(radius, 1e-9)
    along = (inverse[:, None] * Q * radius).astype(np.float32)  # (K, D)
    bend = _bend((along.T @ trunk.directions).T.tobytes(), len(along.T))
    heights = trunk.w * np.float32(scale)
    linear = trunk.a.astype(np.float64) * inverse * scale
    steep = SteepUnits(
        bend.steep,
        trunk.argument[:, bend.steep].astype(np.float64),
        trunk.w[:, bend.steep].astype(np.float64) * scale,
        (trunk.directions[:, bend.steep] * inverse[:, None].astype(np.float64)),
    )
    coefficients = np.zeros((len(start), 0), np.float32)
    bends = np.zeros((len(start), bend.degree, 0), np.float32)
    if bend.few_terms:
        coefficients = bend.coefficients(trunk.argument, heights)
        own, _ = bend.by_degree[0]
        # the last direction's term comes first
        coefficients[:, own] += (linear @ (Q * radius)[:, ::-1]).astype(np.float32)
    else:
        bends = bend.of_units(trunk.argument, heights)
    return Polynomials(
        start=start,
        degree=bend.degree,
        axes=Q / radius,
        coefficients=coefficients,
        slopes=Q @ bend.unit.T.astype(np.float64) / radius,
        bends=bends,
        linear=linear,
        steep=steep,
    )


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
    def unit(self) -> Floats32:
        """Directions g / r (U, D)."""
        return self.slopes / self.reach[:, None]

    @cached_property
    def degree(self) -> int:
        """The degree at which a place costs least, units that stay as they are included."""

        def cost(degree: int) -> float:
            steep = int((self.reach > REACH[degree]).sum())
            return min(self.terms(degree), self._unit_cost(degree)) + STEEP_COST * steep

        return min(REACH, key=cost)

    @cached_property
    def steep(self) -> Integers:
        """Units that no polynomial of the degree follows."""
        return np.flatnonzero(self.reach > REACH[self.degree])

    @property
    def few_terms(self) -> bool:
        """Whether the sum over units is cheaper as one polynomial of the move."""
        return self.terms(self.degree) <= self._unit_cost(self.degree)

    def terms(self, degree: int) -> int:
        """How many a polynomial of the move has."""
        return comb(degree + self.slopes.shape[1], degree)

    def _unit_cost(self, degree: int) -> float:
        return len(self.slopes) * (degree + 2) / 2

    @cached_property
    def nodes(self) -> Floats32:
        """Chebyshev's, from −1 to 1."""
        count = self.degree + 1
        return np.cos(np.pi * (np.arange(count) + 0.5) / count).astype(np.float32)

    @cached_property
    def fit(self) -> Floats32:
        """What makes coefficients of powers from values at the nodes."""
        powers = np.vander(self.nodes.astype(np.float64), increasing=True)
        return np.linalg.inv(powers).astype(np.float32)

    @cached_property
    def by_degree(self) -> list[tuple[Integers, Floats32]]:
        """For degrees 1 and up: which terms, and what a unit's coefficient of the degree gives to
        each (U, terms).
        """
        powers = np.array(list(exponents(self.slopes.shape[1], self.degree)))
        unit = self.unit[:, None].astype(np.float64)
        parts = np.prod(unit**powers, axis=-1) * [_arrangements(one) for one in powers]
        degrees = powers.sum(axis=1)
        places = [np.flatnonzero(degrees == degree) for degree in range(1, self.degree + 1)]
        return [
            (own, np.ascontiguousarray(parts[:, own], dtype=np.float32)) for own in places
        ]

    def coefficients(self, argument: Floats32, w: Floats32) -> Floats32:
        """Of rows with arguments at their start (n, U) and weights (n, U): (n, terms)."""
        return in_tiles(self._coefficients, argument, w, at_once=AT_ONCE)

    def of_units(self, argument: Floats32, w: Floats32) -> Floats32:
        """The units' own polynomials, without their constants: (n, degree, U)."""

        def compute(argument: Floats32, w: Floats32) -> Floats32:
            return self._powers(argument, w)[:, 1:].transpose(0, 2, 1, 3)

        return np.ascontiguousarray(in_tiles(compute, argument, w, at_once=AT_ONCE))

    def _coefficients(self, argument: Floats32, w: Floats32) -> Floats32:
        powers = self._powers(argument, w)
        count, _, T, _ = powers.shape
        found = np.zeros((count, T, self.terms(self.degree)), np.float32)
        for degree, (own, parts) in enumerate(self.by_degree, 1):
            found[..., own] = multiply(powers[:, degree], parts)
        return found

    def _powers(self, argument: Floats32, w: Floats32) -> Floats32:
        """Coefficients of every unit's powers, of tiles of rows: (t, degree + 1, T, U)."""
        followed = w.copy()
        followed[..., self.steep] = 0.0
        steps: Floats32 = (self.nodes[:, None] * self.reach)[:, None]  # (nodes, 1, U)
        bent = silu(argument[:, None] + steps)
        bent *= followed[:, None]
        rows = argument.shape[1]
        values: Floats32 = bent if rows == TILE[bent.dtype] else fill(bent)
        count, nodes, T, U = values.shape
        powers: Floats32 = self.fit @ values.reshape(count, nodes, T * U)
        return powers.reshape(values.shape)[:, :, :rows]


def _arrangements(powers: Integers) -> int:
    """How often a term occurs in the power of a sum: 2 for d₁d₂ in (d₁ + d₂)²."""
    return factorial(int(powers.sum())) // prod(factorial(int(one)) for one in powers)
