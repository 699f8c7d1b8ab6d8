"""Location and scale of logged shares given the state.

v = m(x) + s(x) z, z spherical with heavy tails (Student's t).

m and log s are additive in the state's columns and fitted by reweighting: a row far out counts
less, w = (ν+D)/(ν+r²) with r = ‖v − m‖/s. Every coefficient has a precision of its own (automatic
relevance determination), so that the many columns that do not steer the allocation cost nothing:
the error of m is what limits how near to the border a move may safely end.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaln

from realloc.base.numerics.jitter import add_jitter, with_jitter
from realloc.base.simplex import Floats

TAILS = (2.5, 4.0, 6.0, 9.0, 14.0, 25.0, 60.0, 1000.0)  # degrees of freedom to choose from
ROUNDS = 12
SETTLE = 3
# bounds of a coefficient's precision
WEAK = 1e-6
STRONG = 1e8
NARROWEST = -12.0  # of log s
SMALLEST = 1e-100  # square of a coefficient: of columns that never vary it is 0
CHUNK = 1024  # rows whose products stay in the processor's cache


@dataclass(frozen=True)
class Location:
    """Coefficients of m (p, D) and of log s (p,), their precisions (p,), and the degrees of
    freedom.
    """

    centre: Floats
    log_scale: Floats
    centre_precision: Floats
    scale_precision: Floats
    tail: float

    def leave(self, design: Floats, v: Floats) -> Floats:
        """z of rows (n, D)."""
        return (v - design @ self.centre) / np.exp(design @ self.log_scale)[:, None]

    def likelihood(self, design: Floats, v: Floats) -> Floats:
        """The logarithm of the density of rows (n, D)."""
        squared = np.square(self.leave(design, v)).sum(axis=1)
        own = log_density(squared, self.tail, v.shape[1])
        return own - v.shape[1] * (design @ self.log_scale)


@dataclass(frozen=True, eq=False)
class Rows:
    """What is fitted: a design (n, p), coordinates v (n, D) and weights (n,)."""

    design: Floats
    v: Floats
    weights: Floats

    @cached_property
    def gram(self) -> Floats:
        """Σ w x xᵀ, the same in every turn."""
        return weigh_gram(self.design, self.weights)


@dataclass(frozen=True, eq=False)
class Turn:
    """Where a fit is after a turn: the model, log s and the squared radius of every row (n,)."""

    found: Location
    log_scale: Floats
    squared: Floats


def look(found: Location, rows: Rows) -> Turn:
    """The rows as a model sees them."""
    log_scale = rows.design @ found.log_scale
    return Turn(
        found,
        log_scale,
        np.square(rows.v - rows.design @ found.centre).sum(axis=1) / np.exp(2 * log_scale),
    )


def start(design: Floats, v: Floats) -> Location:
    """Nothing but a constant: medians, and the spread around them."""
    p = design.shape[1]
    D = v.shape[1]
    centre = np.zeros((p, D))
    log_scale = np.zeros(p)
    centre[0] = np.median(v, axis=0)
    log_scale[0] = np.log(np.median(np.abs(v - centre[0])) / 0.6745 + 1e-9)
    weak = np.full(p, 1.0)
    weak[0] = WEAK
    return Location(centre, log_scale, weak, weak.copy(), 9.0)


def fit_location(design: Floats, v: Floats) -> Location:
    """Fit coefficients and their precisions from scratch.

    The first column of the design is the constant.
    """
    rows = Rows(design, v, np.ones(len(v)))
    turn = look(start(design, v), rows)
    for number in range(ROUNDS):
        turn = look(step(turn, rows, relevance=number >= SETTLE), rows)
        turn = replace(
            turn, found=replace(turn.found, tail=choose_tail(turn.squared, v.shape[1]))
        )
    return turn.found


def refit(former: Location, design: Floats, v: Floats, weights: Floats) -> Location:
    """The same model with other weights of the rows: a member.

    Which columns matter is decided again, so that doubts count.
    """
    rows = Rows(design, v, weights)
    for _ in range(SETTLE):
        former = step(look(former, rows), rows, relevance=True)
    return former


def step(turn: Turn, rows: Rows, relevance: bool) -> Location:
    """One turn of reweighting, for the location and then for the scale."""
    former = turn.found
    design = rows.design
    v = rows.v
    D = v.shape[1]
    nu = former.tail
    scale = np.exp(2 * np.maximum(turn.log_scale, NARROWEST))
    by_row = rows.weights * (nu + D) / (nu + turn.squared) / scale  # (n,)
    factor, inverse = _inverse(weigh_gram(design, by_row), former.centre_precision)
    centre = np.ascontiguousarray(
        cho_solve(factor, design.T @ (v * by_row[:, None]))
    )  # as a file would give it back
    centre_precision = former.centre_precision
    if relevance:
        used = 1 - centre_precision * np.diag(inverse)
        centre_precision = _bounded(
            np.maximum(used, 1e-12)
            * D
            / np.maximum(np.square(centre).sum(axis=1), SMALLEST)
        )

    squared = np.square(v - design @ centre).sum(axis=1) / scale
    score = rows.weights * ((nu + D) * squared / (nu + squared) - D)
    factor, inverse = _inverse(
        2 * D * nu / (nu + D + 2) * rows.gram, former.scale_precision
    )
    change = cho_solve(factor, design.T @ score - former.scale_precision * former.log_scale)
    log_scale = former.log_scale + np.clip(change, -1, 1)
    scale_precision = former.scale_precision
    if relevance:
        used = 1 - scale_precision * np.diag(inverse)
        scale_precision = _bounded(
            np.maximum(used, 1e-12) / np.maximum(np.square(log_scale), SMALLEST)
        )
    return Location(centre, log_scale, centre_precision, scale_precision, nu)


def weigh_gram(design: Floats, weights: Floats) -> Floats:
    """Σ w x xᵀ of rows (n, p) with weights (n,) of at least 0: (p, p)."""
    found = np.zeros((design.shape[1], design.shape[1]))
    root = np.sqrt(weights)[:, None]
    for first in range(0, len(design), CHUNK):
        part = design[first : first + CHUNK] * root[first : first + CHUNK]
        found += part.T @ part
    return found


def choose_tail(squared: Floats, D: int) -> float:
    """The degrees of freedom under which the squared radii (n,) are likeliest."""

    return max(TAILS, key=lambda nu: float(log_density(squared, nu, D).sum()))


def log_density(squared: Floats, nu: float, D: int) -> Floats:
    """Of Student's t in D dimensions at squared radii (n,), without its constant."""
    shape = gammaln((nu + D) / 2) - gammaln(nu / 2) - D / 2 * np.log(nu)
    return shape - (nu + D) / 2 * np.log1p(squared / nu)


def _inverse(gram: Floats, precision: Floats) -> tuple[tuple[Floats, bool], Floats]:
    matrix = gram + np.diag(precision + 1e-9 * np.trace(gram) / len(gram))
    factor = with_jitter(lambda jitter: cho_factor(add_jitter(matrix, jitter)))
    return factor, cho_solve(factor, np.eye(len(gram)))


def _bounded(precision: Floats) -> Floats:
    found = np.clip(precision, WEAK, STRONG)
    found[0] = WEAK
    return found
