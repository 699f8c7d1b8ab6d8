"""The noise ceiling ρ*: what a ranker that knows every true effect τ would reach,
since R = τ + noise.

    ρ* = Spearman(τ, τ + ε),   sd(τ)² = var(R of moved events) − var(R of placebos matched alike)

A placebo is a no-move row matched with other no-move rows, so its R is noise alone. This holds
where movers are no noisier by themselves than the rows they are matched with.
"""

import numpy as np
from scipy.stats import rankdata

from realloc.base.errors import ConfigError, LogError
from realloc.base.numbers import plain
from realloc.base.simplex import Floats
from realloc.evaluate.bootstrap import CELLS, DEFAULT, Bootstrap, interval
from realloc.evaluate.matching import Units
from realloc.evaluate.result import NAN, NORMAL_QUANTILE, Estimate, divide, group_codes

# ρ* does not depend on how many events are simulated, only its Monte-Carlo error does.
MOST_EVENTS = 20_000


def noise_ceiling(
    effect: float, noise: float, events: int = 2000, draws: int = 200, seed: int = 0
) -> Estimate:
    """Monte Carlo of ρ* for normal effects and noise of these standard deviations.

    The interval is that of the Monte Carlo alone.

    >>> round(noise_ceiling(1.0, 1e-9, events=50, draws=10).value, 3)
    1.0
    """
    if events < 3 or draws < 2:
        raise ConfigError(
            f"Expected at least 3 events and 2 draws, got {events} and {draws}."
        )
    for name, sd in (("effect", effect), ("noise", noise)):
        if not (np.isfinite(sd) and sd >= 0):
            raise ConfigError(
                f"Expected a standard deviation of the {name} of at least 0, got {sd}."
            )
    rng = np.random.default_rng([seed, 13])
    n = min(events, MOST_EVENTS)
    batch = max(1, CELLS // n)
    batches: list[Floats] = []
    for first in range(0, draws, batch):
        shape = (min(batch, draws - first), n)
        tau = rng.normal(0.0, effect, shape)
        ranks = rankdata(tau, axis=1) - (n + 1) / 2
        found = rankdata(tau + rng.normal(0.0, noise, shape), axis=1) - (n + 1) / 2
        norm = np.sqrt(np.square(ranks).sum(axis=1) * np.square(found).sum(axis=1))
        batches.append(divide((ranks * found).sum(axis=1), norm, 0.0))
    rho = np.concatenate(batches)
    half = NORMAL_QUANTILE * rho.std(ddof=1) / np.sqrt(draws)
    return Estimate.around("noise_ceiling", rho.mean(), half, n)


def effect_sd(
    response: Floats,
    units: Units,
    placebo: Floats,
    placebo_units: Units,
    bootstrap: Bootstrap = DEFAULT,
) -> Estimate:
    """sd(τ) = √(var R − var R of placebos), with an interval by bootstrap over units.

    Refused where the difference is not positive.
    """
    for kind, values in (("moved", response), ("placebo", placebo)):
        if len(values) < 2 or not np.isfinite(values).all():
            raise LogError(
                f"Expected two or more finite responses of {kind} events, got {len(values)} or "
                "missing ones."
            )
    variance = float(response.var() - placebo.var())
    if variance <= 0:
        raise LogError(
            "Expected responses of moved events to vary more than those of placebos, got "
            f"variances of {plain(response.var())} and {plain(placebo.var())}. "
            "Noise hides the effects: their size cannot be estimated from these events."
        )
    moved = _variances(response, units, bootstrap)
    still = _variances(placebo, placebo_units, bootstrap, stream=1)
    low, high = interval(moved - still) if len(moved) and len(still) else (NAN, NAN)
    value, low, high = np.sqrt(np.maximum([variance, low, high], 0.0)).tolist()
    return Estimate("effect_sd", value, low, high, len(response))


def _variances(
    values: Floats, units: Units, bootstrap: Bootstrap, stream: int = 0
) -> Floats:
    """Variances of bootstrap samples of units; none with a single unit."""
    codes = group_codes(units)
    centred = values - values.mean()  # else two large numbers would be subtracted
    columns = [
        np.bincount(codes),
        np.bincount(codes, centred),
        np.bincount(codes, centred**2),
    ]
    sums = np.stack(columns, axis=1)
    if len(sums) < 2:
        return np.empty(0)
    drawn = Bootstrap(draws=bootstrap.draws, seed=2 * bootstrap.seed + stream)
    total = np.concatenate(
        [weights @ sums for weights in drawn.weights(len(sums), len(sums))]
    )
    return total[:, 2] / total[:, 0] - (total[:, 1] / total[:, 0]) ** 2
