"""Agreement lift: what followed when the randomized move happened to go the recommended way.

    Σ w⁺ r / Σ w⁺ − Σ w⁻ r / Σ w⁻,   r = Y − m(x, start),
    w⁺ = 1{⟨P − start, π − start⟩ > 0} / P(agree | x), w⁻ likewise for the other way

It needs no move to be repeated exactly, so it speaks where the off-policy value cannot; but it is
about directions, not about the policy's value.
"""

from math import factorial

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, Mask
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.outcome_model import OutcomeModel, fit_outcome_model
from realloc.evaluate.randomized import Randomized, RandomizedMoves, check_shares
from realloc.evaluate.result import NAN, Estimate, EstimateTable
from realloc.evaluate.weights import Term, weighted_mean

# Rows that nearly never agree or oppose are left out: their weight would be all there is.
LEAST_CHANCE = 1e-3
BOOTSTRAP = Bootstrap(draws=1000)
DRAWS = 256  # from the simplex, to integrate a density


def agreement_lift(
    rows: Randomized, shares: Floats, model: OutcomeModel | None = None
) -> EstimateTable:
    """Mean outcome, beyond what was expected, where logged moves agree with `shares` minus where
    they oppose.

    And how many rows agree, oppose and could do both; the lift is NaN where no row could.
    """
    check_shares("recommended shares", shares, rows.start.shape)
    direction = shares - rows.start
    inner = ((rows.logged - rows.start) * direction).sum(axis=1)
    agree, oppose = _chances(rows, direction)
    both = (agree > LEAST_CHANCE) & (oppose > LEAST_CHANCE)
    plus = both & (inner > 0)
    minus = both & (inner < 0)
    if plus.any() and minus.any():
        expected = (model or fit_outcome_model(rows))(rows.start, np.arange(len(rows)))
        rest = rows.outcome - expected
        agreeing = _weigh(rest, plus, agree)
        opposing = _weigh(rest, minus, oppose)
        lift = weighted_mean("agreement_lift", agreeing, rows.unit, BOOTSTRAP, opposing)
    else:
        lift = Estimate.point("agreement_lift", NAN, 0)
    counts = {"agreeing_rows": plus, "opposing_rows": minus, "comparable_rows": both}
    return EstimateTable(
        (
            lift,
            *(Estimate.point(name, mask.sum(), len(rows)) for name, mask in counts.items()),
        )
    )


def _weigh(rest: Floats, mask: Mask, chance: Floats) -> Term:
    """The mean of `rest` over the rows of `mask`, by inverse chance."""
    weight = np.divide(1.0, chance, out=np.zeros(len(chance)), where=mask)
    return Term(weight * rest, weight)


def _chances(rows: Randomized, direction: Floats) -> tuple[Floats, Floats]:
    """P(agree | x) and P(oppose | x), each (n,); a density is integrated over even draws."""
    if isinstance(rows, RandomizedMoves):
        inner = direction @ rows.moves.T  # (n, M)
        agree = (rows.probabilities * (inner > 0)).sum(axis=1)
        oppose = (rows.probabilities * (inner < 0)).sum(axis=1)
        return agree, oppose
    if rows.density_at is None:
        raise ConfigError(
            "Expected `density_at` to know how likely a drawn move agrees with the recommended "
            "one, got none. Give RandomizedShares the density as a function."
        )
    n, channels = rows.start.shape
    agree = np.zeros(n)
    oppose = np.zeros(n)
    for place in np.random.default_rng(0).dirichlet(np.ones(channels), DRAWS):
        shares = np.broadcast_to(place, (n, channels))
        density = rows.density_at(shares, np.arange(n)) / factorial(channels - 1) / DRAWS
        inner = ((shares - rows.start) * direction).sum(axis=1)
        agree += density * (inner > 0)
        oppose += density * (inner < 0)
    return agree, oppose
