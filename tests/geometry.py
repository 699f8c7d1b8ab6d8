"""Geometry that only tests ask for."""

import numpy as np

from realloc.base.simplex import Floats, softmax, tangent_basis


def from_log_ratio(u: Floats) -> Floats:
    """Shares p = softmax(Qu) of isometric log-ratio coordinates u = Qᵀ log p, (..., K−1)."""
    return softmax(u @ tangent_basis(u.shape[-1] + 1).T.astype(u.dtype))


def path_length(points: Floats) -> Floats:
    """Euclidean length Σ‖p⁽ʳ⁺¹⁾ − p⁽ʳ⁾‖₂ of a trace (..., R+1, K)."""
    return np.linalg.norm(np.diff(points, axis=-2), axis=-1).sum(axis=-1)
