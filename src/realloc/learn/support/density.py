"""The conditional density of logged shares given the state, up to a monotone function.

A radius, and how sure it is.

r(x, p) = ‖W (u(p) − u₀) − m(x)‖ / s(x),   se² = h(x) + r² v(x)

u are coordinates, W whitens them, m and s are an additive model with heavy tails (`location.py`).
Where channels rest, r counts fewer directions, so it is compared among logged actions with as many
active channels.
Members are refits on resampled units: h is the variance of m among them in units of s (with that of
the calibrated radius), v that of log s.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realloc.base.numerics.jitter import solve
from realloc.base.numerics.row_stable import in_tiles, multiply
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, Integers, Rows, channels_first, tangent_basis
from realloc.learn.scaling import Floats32
from realloc.learn.support.basis import Basis, fit_basis
from realloc.learn.support.config import SupportConfig
from realloc.learn.support.coordinates import bend, choose, fill_in, locate
from realloc.learn.support.location import Location, fit_location, refit
from realloc.learn.support.logged import Logged

# Part of the mean variance below which a direction counts as one that logs never took.
THINNEST = 1e-3
FILLINGS = 4
LIGHTEST = 4.0  # degrees of freedom of log-ratios whose usual size means something
LEAST_Z = 3.0  # of the likelihood that learned curves bring
FEWEST_OF_A_COUNT = 500  # rows with as many active channels, for a quantile of their own


@dataclass(frozen=True)
class Density:
    """What was learned: where shares lie given the state."""

    kind: str  # of coordinates
    origin: Floats  # u₀ (C,)
    whiten: Floats  # W (C, D)
    basis: Basis
    location: Location
    centres: Floats  # (M, p, D) of the members
    log_scales: Floats  # (M, p)
    by_count: Floats  # factor of the radius (K,) where 1, 2, … K channels are active

    def whitened(self, shares: Floats) -> Floats:
        """W (u(p) − u₀) of shares (..., K): (..., D).

        Summed channel by channel, so that no place depends on another.
        """
        return np.moveaxis(self.along(shares), 0, -1)

    def along(self, shares: Floats, log_centre: Floats | None = None) -> Floats:
        """The same with coordinates first, (D, ...).

        Resting channels are filled in by the `log_centre` (K, ...) of their states.
        """
        axes, shift = self.axes
        bent = bend(self.kind, channels_first(shares))
        if log_centre is not None:
            bent = fill_in(bent, log_centre, channels=0)
        found = np.empty((axes.shape[1], *bent.shape[1:]))
        for d in range(len(found)):
            np.multiply(bent[0], axes[0, d], out=found[d])
            found[d] -= shift[d]
            for k in range(1, len(axes)):
                found[d] += bent[k] * axes[k, d]
        return found

    def count_factor(self, shares: Floats) -> Floats:
        """The factor of the radius at shares (..., K), by how many channels are active: (...)."""
        if self.kind != "partial":
            return np.ones(shares.shape[:-1])
        return self.by_count[(shares > 0).sum(axis=-1) - 1]

    @cached_property
    def _every(self) -> Floats:
        """Coefficients of m and log s, and of all members: (p, D + 1 + M (D + 1))."""
        p = len(self.location.centre)
        members = self.centres.transpose(1, 0, 2).reshape(p, -1)
        return np.concatenate(
            [
                self.location.centre,
                self.location.log_scale[:, None],
                members,
                self.log_scales.T,
            ],
            axis=1,
        )

    @cached_property
    def axes(self) -> tuple[Floats, Floats]:
        """What makes whitened coordinates of bent shares: (K, D), and what is taken off (D,)."""
        axes = (
            self.whiten
            if self.kind == "sphere"
            else tangent_basis(len(self.whiten) + 1) @ self.whiten
        )
        return axes, self.origin @ self.whiten

    def at(self, x: Floats32, limit_error: float = 0.0) -> "Border":
        """The density of n states.

        `limit_error`: standard error of the radius that places will be compared with.
        """
        sums = in_tiles(lambda tiles: multiply(tiles, self._every), self.basis.design(x))
        D = self.location.centre.shape[1]
        M = len(self.centres)
        every = np.ascontiguousarray(sums.T)
        centre, log_scale, centres, log_scales = np.split(every, [D, D + 1, D + 1 + M * D])
        log_scale = log_scale[0]
        off = centres.reshape(M, D, -1) - centre
        centre_variance = np.square(off).mean(axis=(0, 1)) / np.exp(2 * log_scale)
        scale_variance = np.square(log_scales - log_scale).mean(axis=0)
        centre = np.ascontiguousarray(centre.T)
        return Border(
            self,
            centre,
            np.exp(log_scale),
            centre_variance + limit_error**2,
            scale_variance,
        )


@dataclass(frozen=True)
class Border:
    """Centre (n, D), scale (n,) and their variances (n,) for n states."""

    density: Density
    centre: Floats
    scale: Floats
    centre_variance: Floats
    scale_variance: Floats

    @cached_property
    def log_centre(self) -> Floats | None:
        """The usual logarithms of shares (K, n), where resting channels are filled in by them."""
        if self.density.kind != "partial":
            return None
        whiten = self.density.whiten
        # channel by channel, so that no row depends on another
        back = np.linalg.inv(whiten) @ tangent_basis(len(whiten) + 1).T
        found = np.zeros((back.shape[1], len(self.centre)))
        for d in range(len(back)):
            found += back[d][:, None] * self.centre[:, d]
        return found + (tangent_basis(len(whiten) + 1) @ self.density.origin)[:, None]

    def along(self, rows: Rows, shares: Floats) -> Floats:
        """Coordinates (D, a, m) of shares (a, m, K) of some of the states."""
        centre = self.log_centre
        filled = None if centre is None else centre[:, rows, None]
        return self.density.along(shares, filled)

    def place(self, rows: Rows, shares: Floats) -> Floats:
        """Coordinates (a, D) of shares (a, K) of some of the states."""
        return self.along(rows, shares[:, None])[..., 0].T

    def radius(self, rows: Rows, shares: Floats, margin: float = 0.0) -> Floats:
        """r + margin · se at shares (a, m, K) of some of the states: (a, m)."""
        off = self.along(rows, shares)
        off -= self.centre[rows].T[..., None]
        r = np.sqrt(np.square(off, out=off).sum(axis=0)) / self.scale[rows, None]
        if margin:
            r += margin * np.sqrt(
                self.centre_variance[rows, None]
                + np.square(r) * self.scale_variance[rows, None]
            )
        return r * self.density.count_factor(shares)


def fit_density(
    logged: Logged,
    folds: Integers,
    config: SupportConfig,
    seed: int,
    progress: Progress = silent,
) -> tuple[Density, Floats]:
    """The density, and the radius (n,) of every logged action by a fit that never saw its unit."""
    from realloc.learn.support.curves import learn_curves  # torch, to learn alone

    kind = choose(logged.shares, config.coordinates)
    u = locate(kind, logged.shares)
    if kind == "partial":
        u, tail = fill_rows(logged)
        if config.coordinates == "auto" and tail < LIGHTEST:
            kind = "sphere"
            u = locate(kind, logged.shares)
    origin, whiten = _whitening(fit_basis(logged.x).design(logged.x), u)
    curves = learn_curves(logged.x, (u - origin) @ whiten, folds, seed, progress)
    judged = judge(logged.x, u, folds)
    progress("support: folds", 1, 2)
    basis = fit_basis(logged.x)
    if curves is not None:
        with_curves = judge(logged.x, u, folds, curves)
        better = with_curves.likelihood - judged.likelihood
        if significance(better, logged.unit) > LEAST_Z:
            judged = with_curves
            basis = fit_basis(logged.x, curves[-1])
    progress("support: folds", 2, 2)
    design = basis.design(logged.x)
    origin, whiten = _whitening(design, u)
    v = (u - origin) @ whiten
    location = fit_location(design, v)
    members = _members(location, design, v, logged.unit, config.members, seed)
    off = np.stack([member.centre for member in members]) - location.centre
    log_scales = np.stack([member.log_scale for member in members])
    if basis.curves.shape[1]:
        # Members share their curves; fits of the folds have curves of their own.
        among_members = float(np.square(design @ off).sum(axis=-1).mean())
        among_folds = judged.apart(whiten)
        off *= max(1.0, among_folds / among_members) ** 0.5 if among_members > 0 else 1.0
    centres = location.centre + off
    by_count = np.ones(logged.shares.shape[1])
    if kind == "partial":
        by_count = compare_counts(judged.radius, logged.shares, config.level)
    density = Density(kind, origin, whiten, basis, location, centres, log_scales, by_count)
    return density, judged.radius * density.count_factor(logged.shares)


def compare_counts(radius: Floats, shares: Floats, level: float) -> Floats:
    """Factors (K,) that give rows with 1, 2, … K active channels the same quantile of radii (n,).

    Counts with few rows join the next larger one, whose quantile is the more careful one.
    """
    count = (shares > 0).sum(axis=1)
    usual = np.quantile(radius, level)
    factors = np.ones(shares.shape[1])
    waiting: list[int] = []
    for active in range(1, shares.shape[1] + 1):
        waiting.append(active)
        own = radius[np.isin(count, waiting)]
        if len(own) >= FEWEST_OF_A_COUNT:
            factors[np.array(waiting) - 1] = usual / np.quantile(own, level)
            waiting = []
    if waiting and waiting[0] > 1:  # too few rows use them all: as the next smaller count
        factors[np.array(waiting) - 1] = factors[waiting[0] - 2]
    return factors


def fill_rows(logged: Logged) -> tuple[Floats, float]:
    """Log-ratios of all rows with resting channels filled in, and how heavy their tails are."""
    bent = bend("partial", logged.shares)
    active = logged.shares > 0
    Q = tangent_basis(bent.shape[1])
    design = fit_basis(logged.x).design(logged.x)
    own = np.where(active, bent, 0.0).sum(axis=1, keepdims=True)
    off = np.where(active, bent - own / active.sum(axis=1, keepdims=True), 0.0)
    centre = np.tile(off.sum(axis=0) / np.maximum(active.sum(axis=0), 1), (len(bent), 1))
    tail = 0.0
    for _ in range(FILLINGS):
        u = fill_in(bent, centre) @ Q
        origin, whiten = _whitening(design, u)
        found = fit_location(design, (u - origin) @ whiten)
        tail = found.tail
        centre = (design @ found.centre @ np.linalg.inv(whiten) + origin) @ Q.T
    return fill_in(bent, centre) @ Q, tail


@dataclass(frozen=True)
class Judged:
    """The radius (n,) of every action by a fit that never saw its unit, how likely it is, and
    where each fold's fit has the centres (F, n, C).
    """

    radius: Floats
    likelihood: Floats
    centres: Floats

    def apart(self, whiten: Floats) -> float:
        """The variance of a centre among the fits, in whitened units."""
        off = (self.centres - self.centres.mean(axis=0)) @ whiten
        return float(np.square(off).sum(axis=-1).mean()) * len(off) / (len(off) - 1)


def judge(
    x: Floats32, u: Floats, folds: Integers, curves: list[Floats] | None = None
) -> Judged:
    """Fit without each fold, and judge its rows."""
    radius = np.empty(len(u))
    likelihood = np.empty(len(u))
    centres: list[Floats] = []
    for fold in range(int(folds.max()) + 1):
        own = folds != fold
        design = fit_basis(x, None if curves is None else curves[fold]).design(x)
        # With axes of its own, or many channels would know the rows they are judged by.
        origin, whiten = _whitening(design[own], u[own])
        part = fit_location(design[own], (u[own] - origin) @ whiten)
        there = (u[~own] - origin) @ whiten
        radius[~own] = np.linalg.norm(part.leave(design[~own], there), axis=1)
        volume = float(np.linalg.slogdet(whiten)[1])
        likelihood[~own] = part.likelihood(design[~own], there) + volume
        centres.append(design @ part.centre @ np.linalg.inv(whiten) + origin)
    return Judged(radius, likelihood, np.stack(centres))


def significance(values: Floats, unit: NDArray[np.str_]) -> float:
    """z of the sum of values (n,) whose units are independent."""
    by_unit = np.bincount(np.unique(unit, return_inverse=True)[1], weights=values)
    return float(by_unit.sum() / max(np.sqrt(np.square(by_unit).sum()), 1e-300))


def _members(
    location: Location,
    design: Floats,
    v: Floats,
    unit: NDArray[np.str_],
    count: int,
    seed: int,
) -> list[Location]:
    """Refits on resampled units (a Bayesian bootstrap)."""
    random = np.random.default_rng(seed)
    _, code = np.unique(unit, return_inverse=True)
    return [
        refit(location, design, v, random.exponential(size=code.max() + 1)[code])
        for _ in range(count)
    ]


def _whitening(design: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Coordinates in which what the state does not explain is round.

    Directions that logs never took stay steep.
    """
    origin = u.mean(axis=0)
    ridge = 1e-3 * len(u) * np.eye(design.shape[1])
    centred = u - origin
    rest = centred - design @ solve(design.T @ design + ridge, design.T @ centred)
    size = np.linalg.norm(rest, axis=1)
    kept = rest[
        size <= np.quantile(size, 0.95)
    ]  # far ones would say how far, not in which shape
    values, vectors = np.linalg.eigh(np.cov(kept.T).reshape(u.shape[1], -1))
    values = np.maximum(values, THINNEST * values.mean() + 1e-12)
    return origin, (
        vectors / np.sqrt(values)
    ) @ vectors.T  # symmetric, so that fits of different rows share their axes
