"""Shares in minor units of money that keep the bounds: largest remainders, where a bound leaves the
choice.

A bound in shares holds for units m of a budget of T units when m / T keeps it, one in money when m
/ 10^digits does. Where no whole units keep all bounds (a cap of 1/3 for each of three channels and
a budget of 1.00), the bounds are held to the unit next to them.
"""

import numpy as np

from realloc.base import simplex
from realloc.base.simplex import Integers
from realloc.decide.constraints.bounds import Bounds, Flags
from realloc.decide.search.tree import Floats, Whole, nearest_point, tighten

NEAR = 1e-6  # units: float error of shares × budget


def least_units(bound: Floats, scale: Floats | float) -> Floats:
    """The smallest whole m with m / scale ≥ bound.

    >>> least_units(np.array([0.07, 0.071]), 100.0).tolist()
    [7.0, 8.0]
    """
    m = np.floor(bound * scale) - 1
    for _ in range(3):
        m = m + (m / scale < bound)
    return np.maximum(m, 0)


def most_units(bound: Floats, scale: Floats | float) -> Floats:
    """The largest whole m with m / scale ≤ bound."""
    m = np.ceil(bound * scale) + 1
    for _ in range(3):
        m = m - (m / scale > bound)
    return m


def round_within(
    bounds: Bounds,
    rounded: Integers,
    shares: Floats,
    start: Floats,
    largest: Floats,
    digits: int,
) -> Integers:
    """Minor units (n, K) of rows whose shares keep the bounds and whose budget is above 0 units.

    `rounded` are those of the largest remainders.

    A frozen channel gets what its current share would. Where rounding would exceed the largest
    move, units are rounded towards the current ones instead.
    """
    tree = bounds.rules.tree
    rank = bounds.rules.by_name
    total = np.rint(bounds.budget * 10.0**digits)
    home = simplex.round_money(start, bounds.budget, digits, rank).astype(np.float64)
    units = rounded.astype(np.float64)
    quota = shares * total[:, None]
    low, high, possible = _whole_bounds(bounds, shares, home, total, digits)
    sums = tree.sums(units)
    out = possible & ((sums < low) | (sums > high)).any(axis=1)
    units[out] = nearest_point(
        tree, quota[out], low[out], high[out], quota[out], Whole(rank)
    )
    limit = most_units(np.minimum(largest, 1.0), total)
    far = possible & (simplex.total_variation(units, home) > limit)
    whole = Whole(rank, home[far])
    nearer = nearest_point(tree, quota[far], low[far], high[far], quota[far], whole)
    better = simplex.total_variation(nearer, home[far]) < simplex.total_variation(
        units[far], home[far]
    )
    units[far] = np.where(better[:, None], nearer, units[far])
    return units.astype(np.int64)


def _whole_bounds(
    bounds: Bounds, shares: Floats, home: Floats, total: Floats, digits: int
) -> tuple[Floats, Floats, Flags]:
    """Tightened bounds in units (n, V), to the next unit if exact ones clash; and if any exist."""
    rules = bounds.rules
    K = bounds.rules.tree.channels
    T = total[:, None]
    cents = 10.0**digits
    low = np.maximum(least_units(rules.low_share, T), least_units(rules.low_money, cents))
    high = np.minimum(most_units(rules.high_share, T), most_units(rules.high_money, cents))
    for exact in (low, high):
        exact[:, :K] = np.where(rules.frozen, home, exact[:, :K])
        exact[:, -1] = total
    high[:, :K] = np.where(shares == 0, 0, high[:, :K])  # a share of zero never gets a unit
    low, high, clash = tighten(rules.tree, low, high)
    loose_low = np.floor(bounds.low * T + NEAR)
    loose_high = np.ceil(bounds.high * T - NEAR)
    loose_high[:, :K] = np.where(shares == 0, 0, loose_high[:, :K])
    loose_low[:, -1] = loose_high[:, -1] = total
    loose_low, loose_high, wedged = tighten(rules.tree, loose_low, loose_high)
    strict: Flags = np.asarray(~clash.any(axis=1))
    low[~strict] = loose_low[~strict]
    high[~strict] = loose_high[~strict]
    return low, high, strict | ~wedged.any(axis=1)
