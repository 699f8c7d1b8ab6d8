"""Importance weights of a target policy, how much evidence they leave, and weighted means by unit.

    menu:        w_i = π_i(A_i) / e_i(A_i)
    continuous:  w_i = K_h(z_i − z*_i) / (κ_i f_z(z_i)),   K_h(v) = c (1 − |v/h|²)₊ / h^d

z = Qᵀp are orthonormal coordinates, so f_z = f / √K; z* is recommended; κ_i is the part of the
kernel on the support.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gamma, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc, t

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Mask, Rows, tangent_basis, total_variation
from realloc.evaluate.bootstrap import Bootstrap, interval
from realloc.evaluate.randomized import (
    SUM_TOLERANCE,
    RandomizedMoves,
    RandomizedShares,
    check_shares,
)
from realloc.evaluate.result import CONFIDENCE, NAN, Estimate, group_codes


@dataclass(frozen=True, eq=False)
class Target:
    """What a policy would do on each row, and where that is on the menu at all."""

    probabilities: Floats  # (n, M) chances over the menu's arms
    on_menu: Mask
    # (n,) moved share between the recommendation and the arm that stands for it.
    distance: Floats


def target_arms(rows: RandomizedMoves, arms: Rows) -> Target:
    """One arm per row; rows that could not get it (probability 0, or arm −1) are off the menu."""
    n, M = rows.probabilities.shape
    whole = arms.shape == (n,) and np.issubdtype(arms.dtype, np.integer)
    if not whole or arms.min() < -1 or arms.max() >= M:
        raise LogError(
            f"Expected one arm from 0 to {M - 1} (or −1: off the menu) for each of {n} rows, got "
            "others."
        )
    return target_mix(rows, (arms[:, None] == np.arange(M)).astype(np.float64))


def target_mix(rows: RandomizedMoves, probabilities: Floats) -> Target:
    """Chances over the arms, (n, M).

    A row of zeros, or with an arm that the row could not get, is off the menu.
    """
    if probabilities.shape != rows.probabilities.shape:
        raise LogError(
            f"Expected chances of shape {rows.probabilities.shape}, got {probabilities.shape}."
        )
    total = probabilities.sum(axis=1)
    fair = (probabilities >= 0).all(axis=1) & (
        (np.abs(total - 1) <= SUM_TOLERANCE) | (total == 0)
    )
    if not fair.all():
        raise LogError(
            "Expected a target's chances of at least 0 that sum to 1 (or are all 0: off the menu), "
            f"got others in {(~fair).sum()} of {len(fair)} rows (first: {int((~fair).argmax())})."
        )
    impossible = ((probabilities > 0) & (rows.probabilities <= 0)).any(axis=1)
    return Target(probabilities, (total > 0) & ~impossible, np.zeros(len(rows)))


def target_shares(rows: RandomizedMoves, shares: Floats, tolerance: float = 0.02) -> Target:
    """The nearest arm the row could get; off the menu where it is further than `tolerance`."""
    check_shares("target shares", shares, rows.start.shape)
    away = np.full(rows.probabilities.shape, np.inf)
    for arm, move in enumerate(rows.moves):
        could = rows.probabilities[:, arm] > 0
        away[could, arm] = total_variation(rows.start[could] + move, shares[could])
    distance = away.min(axis=1)
    near = distance <= tolerance + 1e-9
    return replace(
        target_arms(rows, np.where(near, away.argmin(axis=1), -1)), distance=distance
    )


def menu_weights(rows: RandomizedMoves, chances: Floats) -> Floats:
    """π(A)/e(A) of chances over the arms, (n,)."""
    return chances[np.arange(len(rows)), rows.drawn] / rows.propensity


def default_bandwidth(rows: RandomizedShares) -> float:
    """h = 2 s n^(−1/(d+4)), s the spread of the drawn moves per coordinate: the usual order."""
    d = rows.start.shape[1] - 1
    moves = (rows.shares - rows.start) @ tangent_basis(d + 1)
    return float(2 * np.sqrt(moves.var(axis=0).mean()) * len(rows) ** (-1 / (d + 4)))


@dataclass(frozen=True, eq=False)
class ActionKernel:
    """A kernel around each row's target."""

    rows: RandomizedShares
    target: Floats  # (n, K)
    bandwidth: float

    def __post_init__(self) -> None:
        check_shares("target shares", self.target, self.rows.start.shape)

    def weights(self, points: int = 64) -> tuple[Floats, Mask]:
        """Weights (n,) by how close the drawn move comes to the recommended one.

        And which rows they can be trusted for: at least a tenth of the kernel lies on the support.
        """
        channels = self.target.shape[1]
        d = channels - 1
        gap = (self.rows.shares - self.target) @ tangent_basis(channels)
        squares = np.square(gap).sum(axis=1) / self.bandwidth**2
        ball = pi ** (d / 2) / gamma(d / 2 + 1)
        kernel = (d + 2) / (2 * ball) * np.maximum(1 - squares, 0) / self.bandwidth**d
        # κ: the part of the kernel on the simplex and, where known, the density's support.
        normal = qmc.MultivariateNormalQMC(np.zeros(d + 4), rng=np.random.default_rng(0))
        inside = np.zeros(len(self.rows))
        for offset in _in_ball(normal.random(points), d):
            inside += self._place(offset)[1] / points
        trusted = inside >= 0.1
        density = self.rows.density / np.sqrt(channels)
        return np.where(trusted, kernel / np.maximum(inside, 0.1) / density, 0.0), trusted

    def draws(self) -> Iterator[tuple[Floats, Mask]]:
        """Shares (n, K) drawn from the kernel, and which lie on the support; a few times."""
        rng = np.random.default_rng(0)
        n, channels = self.target.shape
        for _ in range(4):
            yield self._place(
                _in_ball(rng.standard_normal((n, channels + 3)), channels - 1)
            )

    def _place(self, offset: Floats) -> tuple[Floats, Mask]:
        """Where an offset (d,) or (n, d) in the unit ball leads,
        and which places lie on the support.
        """
        place = (
            self.target + self.bandwidth * offset @ tangent_basis(self.target.shape[1]).T
        )
        good = place.min(axis=1) >= 0
        if self.rows.density_at is not None and good.any():
            good[good] = self.rows.density_at(place[good], np.flatnonzero(good)) > 0
        return place, good


def _in_ball(normal: Floats, d: int) -> Floats:
    """Normal draws (r, d + 4) as draws (r, d) from the kernel on the unit ball.

    The first d coordinates of an even draw from the sphere in d + 4 dimensions have density ∝ 1 −
    |v|².
    """
    return normal[:, :d] / np.linalg.norm(normal, axis=1, keepdims=True)


def effective_size(weights: Floats) -> float:
    """Kish's (Σw)²/Σw²: so many equally weighted rows carry as much; 0 where all weights are 0.

    >>> effective_size(np.array([1.0, 1.0, 0.0]))
    2.0
    """
    squares = float(np.square(weights).sum())
    return float(weights.sum() ** 2 / squares) if squares > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Term:
    """A ratio Σ top / Σ bottom over rows; without a bottom, the mean of the top."""

    top: Floats
    bottom: Floats | None = None


def weighted_mean(
    name: str,
    term: Term,
    unit: Rows,
    bootstrap: Bootstrap | None = None,
    minus: Term | None = None,
) -> Estimate:
    """A ratio, or the difference of two, with an interval in which all rows of a unit count as one
    draw.

    Without a bootstrap it is by leaving out a unit at a time, with Student's t.
    """
    n = len(term.top)
    codes = group_codes(unit)
    columns: list[NDArray[Any]] = []
    for part in (term, minus) if minus else (term,):
        bottom = np.ones(n) if part.bottom is None else part.bottom
        columns += [np.bincount(codes, part.top), np.bincount(codes, bottom)]
    # (G, 2 or 4): the statistic is a function of unit sums
    table = np.stack(columns, axis=1)
    value = float(_quotients(table.sum(axis=0, keepdims=True))[0])
    if not np.isfinite(value):
        return Estimate.point(name, NAN, n)
    if len(table) < 2:
        return Estimate.point(name, value, n)
    if bootstrap is None:
        return Estimate.around(name, value, _jackknife(table), n)
    weights = bootstrap.weights(len(table), len(table))
    drawn = [_quotients(counts @ table) for counts in weights]
    return Estimate(name, value, *interval(np.concatenate(drawn)), n)


def _quotients(sums: Floats) -> Floats:
    """The statistic of each row of sums, (r, 2 or 4); not finite where a denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = sums[:, 0] / sums[:, 1]
        return quotient if sums.shape[1] == 2 else quotient - sums[:, 2] / sums[:, 3]


def _jackknife(table: Floats) -> float:
    """Half the interval's width from the values θ₋g without one unit each.

        s² = (G−1)/G Σ (θ₋g − θ̄)²,   degrees of freedom 2 / (2/(G−1) + (κ−3)/G)

    κ is the kurtosis of the θ₋g. The degrees are those of a χ² as uncertain as s² (Satterthwaite):
    where few units carry the weight, the variance itself is known from few.
    """
    groups = len(table)
    apart = _quotients(table.sum(axis=0) - table)
    apart -= apart.mean()
    squares = float(np.square(apart).sum())
    if not squares > 0:
        return squares  # 0, or NaN where one unit holds a whole denominator
    kurtosis = groups * float((apart**4).sum()) / squares**2
    degrees = 2 / (2 / (groups - 1) + max(kurtosis - 3, 0.0) / groups)
    return float(
        t.ppf(0.5 + CONFIDENCE / 2, degrees) * np.sqrt((groups - 1) / groups * squares)
    )
