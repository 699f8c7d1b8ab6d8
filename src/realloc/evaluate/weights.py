"""Importance weights of a target policy, how much evidence they leave, and weighted means with intervals by unit.

    menu:        w_i = π_i(A_i) / e_i(A_i)
    continuous:  w_i = K_h(z_i − z*_i) / (κ_i f_z(z_i)),   K_h(v) = c (1 − |v_along/h|² − |v_across/(ρh)|²)₊ / (ρ^{d−1} h^d)

z = Qᵀp are orthonormal coordinates, so f_z = f / √K; z* is recommended; along and across are parts of the difference of
moves in the direction of the recommended move and at right angles to it; κ_i is the part of the kernel on the support.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gamma, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc, t

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Floats, tangent_basis, total_variation
from realloc.evaluate.randomized import (
    SUM_TOLERANCE,
    RandomizedMoves,
    RandomizedShares,
    Rows,
    check_shares,
)
from realloc.evaluate.result import CONFIDENCE, Estimate

Mask = NDArray[np.bool_]
Term = tuple[Floats, Floats]  # numerator and denominator, a value per row
INTERVALS = ("cluster", "bootstrap")
NAN = float("nan")
BATCH = 50  # bootstrap draws at once: memory stays at so many numbers per unit


@dataclass(frozen=True, eq=False)
class Target:
    """What a policy would do on each row: chances over the menu's arms (n, M), and where that is on the menu at all."""

    probabilities: Floats
    on_menu: Mask
    distance: Floats  # (n,) moved share between what was asked and the arm that stands for it


def target_arms(rows: RandomizedMoves, arms: Rows) -> Target:
    """One arm per row; rows that could not get it (probability 0, or arm −1) are off the menu."""
    n, M = rows.probabilities.shape
    if (
        arms.shape != (n,)
        or not np.issubdtype(arms.dtype, np.integer)
        or arms.min() < -1
        or arms.max() >= M
    ):
        raise LogError(
            f"Expected one arm from 0 to {M - 1} (or −1: off the menu) for each of {n} rows, got others."
        )
    return target_mix(rows, (arms[:, None] == np.arange(M)).astype(np.float64))


def target_mix(rows: RandomizedMoves, probabilities: Floats) -> Target:
    """Chances over the arms, (n, M); a row of zeros, or with an arm that the row could not get, is off the menu."""
    if probabilities.shape != rows.probabilities.shape:
        raise LogError(
            f"Expected chances of shape {rows.probabilities.shape}, got {probabilities.shape}."
        )
    total = probabilities.sum(axis=1)
    fair = (probabilities >= 0).all(axis=1) & ((np.abs(total - 1) <= SUM_TOLERANCE) | (total == 0))
    if not fair.all():
        raise LogError(
            f"Expected a target's chances of at least 0 that sum to 1 (or are all 0: off the menu), got others in "
            f"{(~fair).sum()} of {len(fair)} rows (first: {int((~fair).argmax())})."
        )
    on_menu = (total > 0) & ~((probabilities > 0) & (rows.probabilities <= 0)).any(axis=1)
    return Target(probabilities, on_menu, np.zeros(len(rows)))


def target_shares(rows: RandomizedMoves, shares: Floats, tolerance: float = 0.02) -> Target:
    """The nearest arm the row could get; off the menu where it is further than `tolerance` (part of the budget)."""
    check_shares("target shares", shares, rows.start.shape)
    away = np.full(rows.probabilities.shape, np.inf)
    for arm, move in enumerate(rows.moves):
        could = rows.probabilities[:, arm] > 0
        away[could, arm] = total_variation(rows.start[could] + move, shares[could])
    arm = away.argmin(axis=1)
    distance = away.min(axis=1)
    near = distance <= tolerance + 1e-9
    found = target_arms(rows, np.where(near, arm, -1))
    return Target(found.probabilities, found.on_menu, distance)


def menu_weights(rows: RandomizedMoves, chances: Floats) -> Floats:
    """π(A)/e(A) of chances over the arms, (n,)."""
    return np.take_along_axis(chances, rows.drawn[:, None], axis=1)[:, 0] / rows.propensity


def default_bandwidth(rows: RandomizedShares) -> float:
    """h = 2 s n^(−1/(d+4)), s the spread of the drawn moves per coordinate: the usual order."""
    d = rows.start.shape[1] - 1
    moves = (rows.shares - rows.start) @ tangent_basis(d + 1)
    return float(2 * np.sqrt(moves.var(axis=0).mean()) * len(rows) ** (-1 / (d + 4)))


def kernel_weights(
    rows: RandomizedShares, target: Floats, bandwidth: float, across: float = 1.0, points: int = 64
) -> tuple[Floats, Mask]:
    """Weights (n,) by how close the drawn move comes to the recommended one, and where at least a tenth of the kernel
    lies on the support. `across` below 1 asks for a closer match of the direction than of the size."""
    check_shares("target shares", target, rows.start.shape)
    channels = rows.start.shape[1]
    d, unit = channels - 1, _headings(rows, target)
    gap = (rows.shares - target) @ tangent_basis(channels)
    along = (gap * unit).sum(axis=1, keepdims=True) * unit
    squares = (
        np.square(along).sum(axis=1) + np.square((gap - along) / across).sum(axis=1)
    ) / bandwidth**2
    ball, scale = pi ** (d / 2) / gamma(d / 2 + 1), across ** (d - 1) * bandwidth**d
    kernel = (d + 2) / (2 * ball) * np.maximum(1 - squares, 0) / scale
    inside = np.zeros(
        len(rows)
    )  # κ: the part of the kernel on the simplex and, where known, the density's support
    for offset in _kernel_points(d, points):
        inside += _place(rows, target, unit, bandwidth, across, offset)[1] / points
    kept = inside >= 0.1
    return np.where(
        kept, kernel / np.maximum(inside, 0.1) / (rows.density / np.sqrt(channels)), 0.0
    ), kept


def kernel_draws(
    rows: RandomizedShares,
    target: Floats,
    bandwidth: float,
    across: float = 1.0,
    draws: int = 4,
    seed: int = 0,
) -> Iterator[tuple[Floats, Mask]]:
    """Shares (n, K) drawn from the kernel around each row's target, and which of them lie on the support; so many times."""
    rng, unit = np.random.default_rng(seed), _headings(rows, target)
    for _ in range(draws):
        normal = rng.standard_normal((len(rows), unit.shape[1] + 4))
        offset = normal[:, : unit.shape[1]] / np.linalg.norm(normal, axis=1, keepdims=True)
        yield _place(rows, target, unit, bandwidth, across, offset)


def _headings(rows: RandomizedShares, target: Floats) -> Floats:
    """Directions of the recommended moves in tangent coordinates, (n, d); zeros where nothing moves."""
    ahead = (target - rows.start) @ tangent_basis(target.shape[1])
    length = np.linalg.norm(ahead, axis=1, keepdims=True)
    return np.divide(ahead, length, out=np.zeros_like(ahead), where=length > 1e-12)


def _place(
    rows: RandomizedShares,
    target: Floats,
    unit: Floats,
    bandwidth: float,
    across: float,
    offset: Floats,
) -> tuple[Floats, Mask]:
    """Where an offset (d,) or (n, d) in the unit ball leads from each target, and whether that lies on the support."""
    along = (offset * unit).sum(axis=1, keepdims=True) * unit
    step = np.where(unit.any(axis=1, keepdims=True), along + across * (offset - along), offset)
    place = target + bandwidth * step @ tangent_basis(target.shape[1]).T
    good = place.min(axis=1) >= 0
    if rows.density_at is not None and good.any():
        good[good] = rows.density_at(place[good], np.flatnonzero(good)) > 0
    return place, good


def _kernel_points(d: int, points: int) -> Floats:
    """Evenly spread points with the density of the kernel on the unit ball."""
    # The first d coordinates of an even draw from the sphere in d + 4 dimensions have density ∝ 1 − |v|².
    normal = qmc.MultivariateNormalQMC(np.zeros(d + 4), rng=np.random.default_rng(0)).random(points)
    return normal[:, :d] / np.linalg.norm(normal, axis=1, keepdims=True)


def effective_size(weights: Floats) -> float:
    """Kish's (Σw)²/Σw²: so many equally weighted rows carry as much; 0 where all weights are 0.

    >>> effective_size(np.array([1.0, 1.0, 0.0]))
    2.0
    """
    squares = float(np.square(weights).sum())
    return float(weights.sum() ** 2 / squares) if squares > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class IntervalConfig:
    """How 95 % intervals are made: by leaving out a unit at a time (cluster), with Student's t, or by resampling units."""

    kind: str = "cluster"
    draws: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in INTERVALS:
            raise ConfigError(
                f"Expected an interval of kind {' or '.join(INTERVALS)}, got {self.kind!r}."
            )
        if self.draws < 100:
            raise ConfigError(f"Expected at least 100 bootstrap draws, got {self.draws}.")


def weighted_mean(
    name: str, plus: Term, unit: Rows, config: IntervalConfig, minus: Term | None = None
) -> Estimate:
    """Σa/Σb, or the difference Σa/Σb − Σc/Σd, with an interval in which all rows of a unit count as one draw."""
    terms = [plus] if minus is None else [plus, minus]
    codes = np.unique(unit, return_inverse=True)[1]
    columns: list[Any] = [np.bincount(codes, weights=part) for term in terms for part in term]
    table, n = (
        np.stack(columns, axis=1),
        len(plus[0]),
    )  # (G, 2 or 4): every statistic here is a function of unit sums
    value = float(_quotients(table.sum(axis=0, keepdims=True))[0])
    if not np.isfinite(value):
        return Estimate(name, NAN, NAN, NAN, n)
    if config.kind == "bootstrap":
        return Estimate(name, value, *_bootstrap(table, config), n)
    half = _jackknife(table)
    return Estimate(name, value, value - half, value + half, n)


def _quotients(sums: Floats) -> Floats:
    """The statistic of each row of sums, (r, 2 or 4); not finite where a denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = sums[:, 0] / sums[:, 1]
        return found if sums.shape[1] == 2 else found - sums[:, 2] / sums[:, 3]


def _jackknife(table: Floats) -> float:
    """Half the interval's width from the values θ₋g without one unit each.

        s² = (G−1)/G Σ (θ₋g − θ̄)²,   degrees of freedom 2 / (2/(G−1) + (κ−3)/G)

    κ is the kurtosis of the θ₋g. The degrees are those of a χ² as uncertain as s² (Satterthwaite): where few units carry
    the weight, the variance itself is known from few.
    """
    groups = len(table)
    if groups < 2:
        return NAN
    apart = _quotients(table.sum(axis=0) - table)
    apart -= apart.mean()
    squares = float(np.square(apart).sum())
    if not squares > 0:
        return squares  # 0, or NaN where one unit holds a whole denominator
    kurtosis = groups * float((apart**4).sum()) / squares**2
    degrees = 2 / (2 / (groups - 1) + max(kurtosis - 3, 0.0) / groups)
    return float(t.ppf(0.5 + CONFIDENCE / 2, degrees) * np.sqrt((groups - 1) / groups * squares))


def _bootstrap(table: Floats, config: IntervalConfig) -> tuple[float, float]:
    """Percentile interval over units drawn with replacement."""
    units, rng = len(table), np.random.default_rng(config.seed)
    if units < 2:
        return NAN, NAN
    totals = np.concatenate(
        [_drawn_counts(rng, units) @ table for _ in range(-(-config.draws // BATCH))]
    )
    found = _quotients(totals)
    found = found[np.isfinite(found)]  # a draw without any row of one side says nothing
    if not len(found):
        return NAN, NAN
    tail = (1 - CONFIDENCE) / 2
    # The k-th of B draws has k / (B + 1) below it on average: other rules make intervals of few draws too short.
    low, high = np.quantile(found, [tail, 1 - tail], method="weibull")
    return float(low), float(high)


def _drawn_counts(rng: np.random.Generator, units: int) -> Floats:
    """How often each unit is drawn, (BATCH, G)."""
    drawn = rng.integers(units, size=(BATCH, units)) + units * np.arange(BATCH)[:, None]
    return (
        np.bincount(drawn.ravel(), minlength=BATCH * units).reshape(BATCH, units).astype(np.float64)
    )
