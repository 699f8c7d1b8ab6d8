"""Agreement lift: what followed when the randomized move happened to go the recommended way, against the other way.

    Σ w⁺ r / Σ w⁺ − Σ w⁻ r / Σ w⁻,   r = Y − m(x, start),   w⁺ = 1{⟨P − start, π − start⟩ > 0} / P(agree | x), w⁻ likewise

It needs no move to be repeated exactly, so it speaks where the off-policy value cannot; but it is about directions, not
about the policy's value.
"""

from dataclasses import dataclass
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats
from realloc.evaluate.outcome_model import OutcomeModel, fit_outcome_model
from realloc.evaluate.randomized import Randomized, RandomizedMoves, RandomizedShares, check_shares
from realloc.evaluate.result import Estimate, EstimateTable
from realloc.evaluate.weights import IntervalConfig, Mask, weighted_mean

if TYPE_CHECKING:
    import pandas as pd

LEAST_CHANCE = (
    1e-3  # rows that nearly never agree or oppose are left out: their weight would be all there is
)
NAN = float("nan")


@dataclass(frozen=True)
class Agreement:
    """The lift, and how many rows agree and oppose."""

    estimates: EstimateTable

    def __getitem__(self, name: str) -> Estimate:
        return self.estimates[name]

    def to_frame(self) -> "pd.DataFrame":
        """One row per number."""
        return self.estimates.to_frame()


def agreement_lift(
    rows: Randomized,
    shares: Floats,
    model: OutcomeModel | None = None,
    interval: IntervalConfig | None = None,
) -> Agreement:
    """Mean outcome, beyond what was expected, where logged moves agree with recommended `shares` minus where they oppose.

    NaN where no row could both agree and oppose.
    """
    check_shares("recommended shares", shares, rows.start.shape)
    wanted = shares - rows.start
    inner = ((rows.logged - rows.start) * wanted).sum(axis=1)
    agree, oppose = _chances(rows, wanted)
    both = (agree > LEAST_CHANCE) & (oppose > LEAST_CHANCE)
    plus, minus = both & (inner > 0), both & (inner < 0)
    counts = [
        Estimate(name, float(mask.sum()), NAN, NAN, len(rows))
        for name, mask in _named(plus, minus, both)
    ]
    if not plus.any() or not minus.any():
        return Agreement(EstimateTable((Estimate("agreement_lift", NAN, NAN, NAN, 0), *counts)))
    every = np.arange(len(rows))
    rest = rows.outcome - (model or fit_outcome_model(rows))(rows.start, every)
    up, down = _inverse(plus, agree), _inverse(minus, oppose)
    how = interval or IntervalConfig(kind="bootstrap")
    lift = weighted_mean("agreement_lift", (up * rest, up), rows.unit, how, (down * rest, down))
    return Agreement(EstimateTable((lift, *counts)))


def _chances(rows: Randomized, wanted: Floats) -> tuple[Floats, Floats]:
    """P(agree | x) and P(oppose | x), each (n,)."""
    if isinstance(rows, RandomizedMoves):
        inner = wanted @ rows.moves.T  # (n, M)
        return (rows.probabilities * (inner > 0)).sum(axis=1), (
            rows.probabilities * (inner < 0)
        ).sum(axis=1)
    return _continuous_chances(rows, wanted)


def _continuous_chances(
    rows: RandomizedShares, wanted: Floats, points: int = 256
) -> tuple[Floats, Floats]:
    """The same by integrating the density over even draws from the simplex."""
    if rows.density_at is None:
        raise ConfigError(
            "Expected `density_at` to know how likely a drawn move agrees with the recommended one, got none. "
            "Give RandomizedShares the density as a function."
        )
    n, channels = rows.start.shape
    rng, every = np.random.default_rng(0), np.arange(n)
    agree, oppose = np.zeros(n), np.zeros(n)
    for place in rng.dirichlet(np.ones(channels), points):
        shares = np.broadcast_to(place, (n, channels))
        density = rows.density_at(shares, every) / factorial(channels - 1) / points
        inner = ((shares - rows.start) * wanted).sum(axis=1)
        agree += density * (inner > 0)
        oppose += density * (inner < 0)
    return agree, oppose


def _inverse(mask: Mask, chance: Floats) -> Floats:
    return np.divide(1.0, chance, out=np.zeros(len(chance)), where=mask)


def _named(plus: Mask, minus: Mask, both: Mask) -> list[tuple[str, Mask]]:
    return [("agreeing_rows", plus), ("opposing_rows", minus), ("comparable_rows", both)]
