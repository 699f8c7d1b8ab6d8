"""Weigh several surfaces by the held-out orthogonal loss: Ỹ = Y − m regressed on f_k(p) − f_k(e), weights of at least 0.

No single learner wins everywhere. m and e are out of fold, and so are the contrasts, so a surface that only fits noise or
only knows the baseline gets little weight. Surfaces that know the same are hard to tell apart, so weights are drawn towards
those of a `lean`, as by a prior of standard deviation `APART` around what the surfaces' mean deserves. Then all weights shrink by
the evidence that they help at all: by max(0, 1 − 1/t²), where t is the improvement of the held-out loss over its standard
error across units. No weight at all is an answer too: nothing was learned, and nothing will be moved.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor

APART = 0.05


@dataclass(frozen=True)
class CommitteeWeights:
    """Weights of the surfaces, and mean squared errors: of nothing, of each alone (weight 1), of the committee."""

    weights: tuple[float, ...]
    nothing: float
    alone: tuple[float, ...]
    together: float
    rows: int
    evidence: float  # t


def weigh(
    residual: Tensor, contrasts: list[Tensor], weights: Tensor, units: Tensor, lean: list[float]
) -> CommitteeWeights:
    """Non-negative least squares of `residual` (n,) on `contrasts`, shrunk; rows without a contrast are left out."""
    design = torch.stack(contrasts, dim=1).double()  # (n, S)
    known = design.isfinite().all(dim=1)
    A, y, w = (
        design[known].numpy(),
        residual[known].double().numpy(),
        weights[known].double().numpy(),
    )
    root = np.sqrt(w)
    found = _towards(np.array(lean) / sum(lean), A * root[:, None], y * root, float(w.sum()))

    def error(fitted: np.ndarray) -> float:
        return float(np.average(np.square(y - fitted), weights=w))

    fitted = A @ found
    better = np.bincount(units[known].numpy(), weights=w * (np.square(y) - np.square(y - fitted)))
    spread = float(np.sqrt(np.square(better).sum()))
    t = float(better.sum()) / spread if spread else 0.0
    shrunk = found * (max(0.0, 1 - 1 / t**2) if t > 0 else 0.0)
    alone = tuple(error(A[:, k]) for k in range(A.shape[1]))
    return CommitteeWeights(
        tuple(float(v) for v in shrunk),
        error(np.zeros(len(y))),
        alone,
        error(A @ shrunk),
        len(y),
        t,
    )


def _towards(lean: np.ndarray, A: np.ndarray, y: np.ndarray, n: float) -> np.ndarray:
    """argmin ‖y − Aw‖²/σ² + ‖w − w̄‖²/APART² over w of at least 0, w̄ a multiple of `lean`."""
    noise = float(np.square(y - A @ nnls(A, y)[0]).sum()) / n if n else 0.0
    lean = lean * (
        A.T @ y > 0
    )  # what points the wrong way deserves nothing beforehand and must not spoil the others' mean
    together = A @ lean
    size = float(together @ together)
    deserved = max(0.0, float(together @ y) / size) if size else 0.0
    pull = noise**0.5 / APART
    return nnls(np.vstack([A, pull * np.eye(len(lean))]), np.append(y, pull * deserved * lean))[0]
