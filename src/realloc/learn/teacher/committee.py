"""Committee weights from the held-out orthogonal loss.

Ỹ = Y − m is regressed on f_k(p) − f_k(e), with weights of at least 0.

No single learner wins everywhere. m, e and the contrasts are out of fold, so a surface that only
fits noise or only knows the baseline gets little weight. Surfaces that know the same are hard to
tell apart, so weights are drawn towards equal ones, as by a prior of standard deviation `APART`
around what the surfaces' mean deserves.

How much of that is true is asked of units that had no part in the weights: ρ is the slope of their
Ỹ on the committee's contrast, with a standard error across units. A priori ρ is 0 (nothing was
learned) or near 1 (normal, standard deviation `SLAB`), each with the same chance. All weights are
multiplied by its posterior mean. Without any weight, nothing will be moved.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats, Integers
from realloc.learn.scaling import Floats32

APART = 0.05
SLAB = 0.3
# Where nothing is true, Σ Ỹ_i f(x_i) is Σ a_ij Ỹ_i Ỹ_j: every pair of units counts twice, once for
# each of them that was predicted by the other. Its variance is twice what units show one by one.
PAIRS = 2**0.5
GROUPS = 5  # of units, each judged by weights that the others gave


@dataclass(frozen=True)
class CommitteeWeights:
    """Weights of the surfaces, and mean squared errors of none, of each alone, of the committee."""

    weights: tuple[float, ...]
    nothing: float
    alone: tuple[float, ...]
    together: float
    rows: int
    slopes: tuple[float, ...]  # of the outcome on each surface alone, from 0 to 1
    significance: float  # z of the slope ρ on units that had no part in the weights
    size_error: float  # standard deviation of ρ, in parts of its mean
    failed: tuple[str, ...] = ()  # surfaces that could not be fitted to these rows

    def lines(self) -> list[str]:
        """A sentence for each surface that is missing."""
        return [
            f"The {name} surface could not be fitted to this window (its numbers are not finite); "
            "the other surfaces decide without it."
            for name in self.failed
        ]


def weigh(
    residual: Floats32,
    contrasts: list[Floats32],
    weights: Floats32,
    units: Integers,
    weighed: bool = True,
) -> CommitteeWeights:
    """Shrunk non-negative least squares of `residual` (n,) on `contrasts`, where rows have all.

    Not `weighed`, the committee is the surfaces' mean, and the loss only says what it is worth.
    """
    design = np.stack(contrasts, axis=1).astype(np.float64)  # (n, S)
    known = np.isfinite(design).all(axis=1)
    A = design[known]
    y = residual[known].astype(np.float64)
    w = weights[known].astype(np.float64)
    owner = units[known]
    if weighed:
        predicted = np.zeros(len(y))
        for group in range(GROUPS):
            own = owner % GROUPS == group
            predicted[own] = A[own] @ _solve(A[~own], y[~own], w[~own])
    else:
        predicted = A.mean(axis=1)
    slope, error = _slope(y, predicted, w, owner)
    size, size_error = size_of_effect(slope, error)
    equal = np.full(len(contrasts), 1 / len(contrasts))
    shrunk = _solve(A, y, w) * size if weighed else equal

    def squared_error(fitted: Floats) -> float:
        return float(np.average(np.square(y - fitted), weights=w))

    return CommitteeWeights(
        weights=tuple(shrunk.tolist()),
        nothing=squared_error(np.zeros(len(y))),
        alone=tuple(squared_error(column) for column in A.T),
        together=squared_error(A @ shrunk),
        rows=len(y),
        slopes=tuple(min(max(_slope(y, column, w, owner)[0], 0.0), 1.0) for column in A.T),
        significance=slope / error if error else 0.0,
        size_error=size_error,
    )


def size_of_effect(slope: float, error: float) -> tuple[float, float]:
    """The posterior mean of ρ and its relative error, given its estimate and standard error."""
    if slope <= 0 or error == 0:
        return 0.0, 0.0
    alike = error**2 + SLAB**2
    for_effect = -0.5 * (slope - 1) ** 2 / alike - 0.5 * np.log(alike)
    for_nothing = -0.5 * (slope / error) ** 2 - np.log(error)
    chance = 1 / (1 + np.exp(min(for_nothing - for_effect, 700.0)))
    precision = 1 / error**2 + 1 / SLAB**2
    near_one = (slope / error**2 + 1 / SLAB**2) / precision
    mean = float(chance * near_one)
    variance = float(chance * (1 / precision + near_one**2)) - mean**2
    return mean, max(variance, 0.0) ** 0.5 / mean if mean > 0 else 0.0


def _slope(y: Floats, predicted: Floats, w: Floats, units: Integers) -> tuple[float, float]:
    """ρ of y on what was predicted, and its standard error across units."""
    size = float(w @ np.square(predicted))
    if size == 0:
        return 0.0, 0.0
    slope = float(w @ (predicted * y)) / size
    scores = np.bincount(units, weights=w * predicted * (y - slope * predicted))
    error = float(np.sqrt(np.square(scores).sum())) / size
    return slope, PAIRS * max(error, 1e-9 * abs(slope))


def _solve(A: Floats, y: Floats, w: Floats) -> Floats:
    """argmin Σ w (y − Aβ)²/σ² + ‖β − β̄‖²/APART² over β of at least 0, β̄ equal weights."""
    from scipy.optimize import nnls

    n = float(w.sum())
    root = np.sqrt(w)
    design = A * root[:, None]
    target = y * root
    noise = (
        float(np.square(target - design @ nnls(design, target)[0]).sum()) / n if n else 0.0
    )
    # A surface that points the wrong way has no prior weight: it must not spoil the others' mean.
    prior = (design.T @ target > 0) / A.shape[1]
    together = design @ prior
    size = float(together @ together)
    deserved = max(0.0, float(together @ target) / size) if size else 0.0
    pull = noise**0.5 / APART
    drawn = np.vstack([design, pull * np.eye(len(prior))])
    return nnls(drawn, np.append(target, pull * deserved * prior))[0]
