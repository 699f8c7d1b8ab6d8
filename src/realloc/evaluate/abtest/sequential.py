"""Looking more than once: two-sided group-sequential boundaries (Lan and DeMets 1983).

With O'Brien–Fleming-type spending α(t) = 4·(1 − Φ(z_{α/4} / √t)) may be spent by part t of the
test; the boundary of look k is the c_k with P(|Z_j| < c_j for j < k, |Z_k| ≥ c_k) = α(t_k) −
α(t_{k−1}), Z_k a Brownian motion at t_k over √t_k. Chosen over an always-valid test because our
tests have a planned end: at the last look hardly anything is lost (c = 2.03 after five looks, where
a mixture SPRT asks for about 3), and early looks only stop for what is overwhelming.
"""

import numpy as np
from scipy import optimize, stats

from realloc.base.simplex import Floats

NODES = 256
REACH = 8.0
SMALLEST_P = 1e-12


def spent(t: float, alpha: float) -> float:
    """The part of α that may be used up by part t of the test."""
    return float(4 * stats.norm.sf(stats.norm.isf(alpha / 4) / np.sqrt(t)))


def boundaries(looks: tuple[float, ...], alpha: float) -> Floats:
    """The |z| at which each look may stop.

    >>> [round(float(c), 2) for c in boundaries((0.5, 1.0), 0.05)]
    [2.96, 1.97]
    """
    limits: list[float] = []
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # Where a path that has not stopped yet may be, and with which mass.
    place = np.zeros(1)
    mass = np.ones(1)
    before = 0.0
    used = 0.0
    for t in looks:
        step = np.sqrt(t - before)
        reach = REACH * np.sqrt(t)
        limit = _limit(place, mass, step, max(spent(t, alpha) - used, 0.0), reach)
        limits.append(limit / np.sqrt(t))
        inside = limit * nodes
        density = stats.norm.pdf((inside[:, None] - place) / step) @ mass / step
        place = inside
        mass = density * weights * limit
        before = t
        used = spent(t, alpha)
    return np.array(limits)


def _limit(place: Floats, mass: Floats, step: float, due: float, reach: float) -> float:
    """The height, at most `reach`, that a path leaves up- or downwards with probability `due`."""

    def excess(limit: float) -> float:
        leave = stats.norm.sf((limit - place) / step) + stats.norm.cdf(
            (-limit - place) / step
        )
        return float(leave @ mass) - due

    if excess(reach) >= 0:
        return reach
    return float(optimize.root_scalar(excess, bracket=(0.0, reach), xtol=1e-10).root)


def look_p_value(p: float, looks: tuple[float, ...], look: int) -> float:
    """The smallest α at which this look (from 1) would stop.

    It is at most α with probability α, however many looks there are.
    """
    if looks[:look] == (1.0,):
        return p
    z = stats.norm.isf(p / 2)

    def short(log_alpha: float) -> float:
        return float(boundaries(looks[:look], float(np.exp(log_alpha)))[-1] - z)

    low = np.log(SMALLEST_P)
    high = np.log(0.999)
    if short(low) <= 0:
        return SMALLEST_P
    if short(high) >= 0:
        return 1.0
    return float(np.exp(optimize.root_scalar(short, bracket=(low, high), xtol=1e-4).root))


def nominal_alpha(looks: tuple[float, ...], look: int, alpha: float) -> float:
    """The plain two-sided level that belongs to the boundary of this look (from 1)."""
    if looks[:look] == (1.0,):
        return alpha
    return float(2 * stats.norm.sf(boundaries(looks[:look], alpha)[-1]))
