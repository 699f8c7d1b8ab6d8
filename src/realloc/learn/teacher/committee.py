"""Committee weights from the held-out orthogonal loss.

Ỹ = Y − m is regressed on f_k(p) − f_k(e), with weights of at least 0.

No single learner wins everywhere. m, e and the contrasts are out of fold, so a surface that only
fits noise or only knows the baseline gets little weight. Surfaces that know the same are hard to
tell apart, so weights are drawn towards prior weights, as by a prior of standard deviation `APART`
around what the surfaces' mean deserves. Then all weights shrink by max(0, 1 − 1/t²), where t is the
improvement of the held-out loss over its standard error across units. Without any weight, nothing
was learned and nothing will be moved.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats, Integers
from realloc.learn.scaling import Floats32

APART = 0.05


@dataclass(frozen=True)
class CommitteeWeights:
    """Weights of the surfaces, and mean squared errors of none, of each alone, of the committee."""

    weights: tuple[float, ...]
    nothing: float
    alone: tuple[float, ...]
    together: float
    rows: int
    significance: float  # t of the improvement


def weigh(
    residual: Floats32,
    contrasts: list[Floats32],
    weights: Floats32,
    units: Integers,
    prior: list[float],
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
    root = np.sqrt(w)
    if weighed:
        solved = _solve(
            A * root[:, None], y * root, np.array(prior) / sum(prior), float(w.sum())
        )
    else:
        solved = np.full(len(contrasts), 1 / len(contrasts))

    def error(fitted: Floats) -> float:
        return float(np.average(np.square(y - fitted), weights=w))

    improved = w * (np.square(y) - np.square(y - A @ solved))
    by_unit = np.bincount(units[known], weights=improved)
    spread = float(np.sqrt(np.square(by_unit).sum()))
    t = float(by_unit.sum()) / spread if spread else 0.0
    shrunk = solved * (max(0.0, 1 - 1 / t**2) if t > 0 else 0.0) if weighed else solved
    return CommitteeWeights(
        weights=tuple(shrunk.tolist()),
        nothing=error(np.zeros(len(y))),
        alone=tuple(error(column) for column in A.T),
        together=error(A @ shrunk),
        rows=len(y),
        significance=t,
    )


def _solve(A: Floats, y: Floats, prior: Floats, n: float) -> Floats:
    """argmin ‖y − Aw‖²/σ² + ‖w − w̄‖²/APART² over w of at least 0, w̄ a multiple of `prior`."""
    from scipy.optimize import nnls

    noise = float(np.square(y - A @ nnls(A, y)[0]).sum()) / n if n else 0.0
    # A surface that points the wrong way has no prior weight: it must not spoil the others' mean.
    prior = prior * (A.T @ y > 0)
    together = A @ prior
    size = float(together @ together)
    deserved = max(0.0, float(together @ y) / size) if size else 0.0
    pull = noise**0.5 / APART
    design = np.vstack([A, pull * np.eye(len(prior))])
    return nnls(design, np.append(y, pull * deserved * prior))[0]
