"""The standard deviation of a gain from the covariance of its field; without torch, as decisions are."""

import numpy as np

from realloc.simplex import Floats


def deviation(covariance: Floats, start: Floats, ends: Floats) -> Floats:
    """sd of the gains of starts (a, K) → ends (a, m, K), from covariances (a, K, K): (a, m)."""
    off = ends - start[:, None]
    return np.sqrt(np.maximum(np.einsum("amk,akl,aml->am", off, covariance, off), 0.0))
