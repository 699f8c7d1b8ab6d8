"""The noise ceiling ρ*: what a ranker that knows every true effect τ would reach, since R = τ + noise.

    ρ* = Spearman(τ, τ + ε),   sd(τ)² = var(R of moved events) − var(R of placebo events matched alike)

A placebo is a no-move row matched with other no-move rows, so its R is noise alone. This holds where movers are no noisier
by themselves than the rows they are matched with.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.stats import rankdata

from realloc.base.errors import ConfigError, LogError
from realloc.evaluate.events import Floats
from realloc.evaluate.matching import Units
from realloc.evaluate.ranking import CELLS, DEFAULT, Bootstrap, interval
from realloc.evaluate.result import CONFIDENCE, Estimate

MOST_EVENTS = (
    20_000  # ρ* does not depend on how many are simulated, only its Monte-Carlo error does
)


@dataclass(frozen=True)
class Ceiling:
    """ρ* with the standard error of its Monte Carlo, and how far ρ of a single simulated log strays (sd)."""

    value: float
    error: float
    spread: float
    n: int
    draws: int

    def estimate(self, name: str = "noise_ceiling") -> Estimate:
        """As an estimate; its interval is that of the Monte Carlo alone."""
        half = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * self.error
        return Estimate(name, self.value, self.value - half, self.value + half, self.n)


def noise_ceiling(
    effect: float | Floats,
    noise: float | Floats,
    events: int = 2000,
    draws: int = 200,
    seed: int = 0,
) -> Ceiling:
    """Monte Carlo of ρ*. `effect` and `noise`: standard deviations (normal), or values to draw from.

    >>> round(noise_ceiling(1.0, 1e-9, events=50, draws=10).value, 3)
    1.0
    """
    if events < 3 or draws < 2:
        raise ConfigError(f"Expected at least 3 events and 2 draws, got {events} and {draws}.")
    _check("effect", effect)
    _check("noise", noise)
    rng = np.random.default_rng([seed, 13])
    n = min(events, MOST_EVENTS)
    size = max(1, CELLS // n)
    found: list[Floats] = []
    for first in range(0, draws, size):
        shape = min(size, draws - first), n
        tau = _draw(rng, effect, shape)
        found.append(_spearman(tau, tau + _draw(rng, noise, shape)))
    rho = np.concatenate(found)
    return Ceiling(
        float(rho.mean()), float(rho.std(ddof=1) / np.sqrt(draws)), float(rho.std(ddof=1)), n, draws
    )


def effect_sd(
    response: Floats,
    units: Units,
    placebo: Floats,
    placebo_units: Units,
    bootstrap: Bootstrap = DEFAULT,
) -> Estimate:
    """sd(τ) = √(var R − var R of placebos), interval by bootstrap over units; refused where the difference is not positive."""
    for what, values in (("moved", response), ("placebo", placebo)):
        if len(values) < 2 or not np.isfinite(values).all():
            raise LogError(
                f"Expected two or more finite responses of {what} events, got {len(values)} or missing ones."
            )
    value = float(response.var() - placebo.var())
    if value <= 0:
        raise LogError(
            f"Expected responses of moved events to vary more than those of placebos, got variances of {response.var():.4g} "
            f"and {placebo.var():.4g}. The effects drown in noise: their size cannot be told from these events."
        )
    moved, still = (
        _variances(response, units, bootstrap),
        _variances(placebo, placebo_units, bootstrap, 1),
    )
    low, high = (
        interval([moved - still]) if len(moved) and len(still) else (float("nan"), float("nan"))
    )
    low, high = (
        float(np.sqrt(max(bound, 0.0))) if np.isfinite(bound) else bound for bound in (low, high)
    )
    return Estimate("effect_sd", float(np.sqrt(value)), low, high, len(response))


def _variances(values: Floats, units: Units, bootstrap: Bootstrap, stream: int = 0) -> Floats:
    """Variances of bootstrap samples of units; none with a single unit."""
    codes = np.unique(units, return_inverse=True)[1]
    centred = values - values.mean()  # else two large numbers would be subtracted
    sums = np.stack(
        [np.bincount(codes, part) for part in (np.ones(len(values)), centred, centred**2)], axis=1
    )
    if len(sums) < 2:
        return np.empty(0)
    drawn = Bootstrap(draws=bootstrap.draws, seed=2 * bootstrap.seed + stream)
    total = np.concatenate([weights @ sums for weights in drawn.weights(len(sums), len(sums))])
    return total[:, 2] / total[:, 0] - (total[:, 1] / total[:, 0]) ** 2


def _spearman(one: Floats, other: Floats) -> Floats:
    """ρ of every row."""
    a, b = (rankdata(part, axis=1) - (part.shape[1] + 1) / 2 for part in (one, other))
    across = np.sqrt(np.square(a).sum(axis=1) * np.square(b).sum(axis=1))
    return np.divide((a * b).sum(axis=1), across, out=np.zeros(len(a)), where=across > 0)


def _draw(rng: np.random.Generator, what: float | Floats, shape: tuple[int, int]) -> Floats:
    if isinstance(what, np.ndarray):
        return (what - what.mean())[rng.integers(0, len(what), shape)]
    return rng.normal(0.0, what, shape)


def _check(name: str, what: float | Floats) -> None:
    if isinstance(what, np.ndarray):
        if len(what) < 3 or not np.isfinite(what).all():
            raise LogError(
                f"Expected at least 3 finite values of the {name}, got {len(what)} or missing ones."
            )
    elif not (np.isfinite(what) and what >= 0):
        raise ConfigError(f"Expected a standard deviation of the {name} of at least 0, got {what}.")
