"""Location and scale of logged shares given the state: v = m(x) + s(x) z, z spherical with heavy tails (Student's t).

m and log s are additive in the state's columns and fitted by reweighting: a row far out counts less, w = (ν+D)/(ν+r²) with
r = ‖v − m‖/s. Every coefficient has a precision of its own (automatic relevance determination), so that the many columns that
do not steer the allocation cost nothing: the error of m is what limits how near to the border a move may safely end.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaln

from realloc.simplex import Floats

TAILS = (2.5, 4.0, 6.0, 9.0, 14.0, 25.0, 60.0, 1000.0)  # degrees of freedom to choose from
ROUNDS, SETTLE = 12, 3
WEAK, STRONG = 1e-6, 1e8  # bounds of a coefficient's precision
NARROWEST = -12.0  # of log s
SMALLEST = 1e-100  # square of a coefficient: of columns that never vary it is 0


@dataclass(frozen=True)
class Location:
    """Coefficients of m (p, D) and of log s (p,), their precisions (p,), and the degrees of freedom."""

    centre: Floats
    log_scale: Floats
    centre_precision: Floats
    scale_precision: Floats
    tail: float

    def leave(self, design: Floats, v: Floats) -> Floats:
        """z of rows (n, D)."""
        return (v - design @ self.centre) / np.exp(design @ self.log_scale)[:, None]

    def radius(self, design: Floats, v: Floats) -> Floats:
        """r of rows (n, D)."""
        return np.linalg.norm(self.leave(design, v), axis=1)


def start(design: Floats, v: Floats) -> Location:
    """Nothing but a constant: medians, and the spread around them."""
    p, D = design.shape[1], v.shape[1]
    centre, log_scale = np.zeros((p, D)), np.zeros(p)
    centre[0] = np.median(v, axis=0)
    log_scale[0] = np.log(np.median(np.abs(v - centre[0])) / 0.6745 + 1e-9)
    weak = np.full(p, 1.0)
    weak[0] = WEAK
    return Location(centre, log_scale, weak, weak.copy(), 9.0)


def fit_location(design: Floats, v: Floats) -> Location:
    """Fit coefficients and their precisions from scratch; the first column of the design is the constant."""
    found = start(design, v)
    ones = np.ones(len(v))
    for turn in range(ROUNDS):
        found = step(found, design, v, ones, relevance=turn >= SETTLE)
        found = replace(found, tail=choose_tail(found.radius(design, v), v.shape[1]))
    return found


def refit(former: Location, design: Floats, v: Floats, weights: Floats) -> Location:
    """The same model with other weights of the rows: a member. Which columns matter is decided again, so that doubts count."""
    for _ in range(SETTLE):
        former = step(former, design, v, weights, relevance=True)
    return former


def step(former: Location, design: Floats, v: Floats, weights: Floats, relevance: bool) -> Location:
    """One turn of reweighting, for the location and then for the scale."""
    D, nu = v.shape[1], former.tail
    log_s = np.maximum(design @ former.log_scale, NARROWEST)
    pull = weights * (nu + D) / (nu + np.square(former.radius(design, v)))  # (n,)
    by_row = pull / np.exp(2 * log_s)
    gram = design.T @ (design * by_row[:, None])
    factor, inverse = _inverse(gram, former.centre_precision)
    centre = np.ascontiguousarray(cho_solve(factor, design.T @ (v * by_row[:, None])))  # as a file would give it back
    centre_precision = former.centre_precision
    if relevance:
        used = 1 - centre_precision * np.diag(inverse)
        centre_precision = _bounded(np.maximum(used, 1e-12) * D / np.maximum(np.square(centre).sum(axis=1), SMALLEST))

    squared = np.square(v - design @ centre).sum(axis=1) / np.exp(2 * log_s)
    score = weights * ((nu + D) * squared / (nu + squared) - D)
    info = 2 * D * nu / (nu + D + 2)
    gram = info * design.T @ (design * weights[:, None])
    factor, inverse = _inverse(gram, former.scale_precision)
    change = cho_solve(factor, design.T @ score - former.scale_precision * former.log_scale)
    log_scale = former.log_scale + np.clip(change, -1, 1)
    scale_precision = former.scale_precision
    if relevance:
        used = 1 - scale_precision * np.diag(inverse)
        scale_precision = _bounded(np.maximum(used, 1e-12) / np.maximum(np.square(log_scale), SMALLEST))
    return Location(centre, log_scale, centre_precision, scale_precision, nu)


def choose_tail(r: Floats, D: int) -> float:
    """The degrees of freedom under which the radii are likeliest."""

    def likelihood(nu: float) -> float:
        shape = gammaln((nu + D) / 2) - gammaln(nu / 2) - D / 2 * np.log(nu)
        return float(len(r) * shape - (nu + D) / 2 * np.log1p(np.square(r) / nu).sum())

    return max(TAILS, key=likelihood)


def _inverse(gram: Floats, precision: Floats) -> tuple[tuple[Floats, bool], Floats]:
    factor = cho_factor(gram + np.diag(precision + 1e-9 * np.trace(gram) / len(gram)))
    return factor, cho_solve(factor, np.eye(len(gram)))


def _bounded(precision: Floats) -> Floats:
    found = np.clip(precision, WEAK, STRONG)
    found[0] = WEAK
    return found
