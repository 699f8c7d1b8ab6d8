"""The state as columns of an additive model.

Every column, and for continuous ones a saturating and an even curve.

tanh x bends where x is large, log cosh x is a soft |x|: together with x they follow any smooth
monotone or U-shaped effect, and grow no faster than the state itself where training never looked.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats, Mask
from realloc.learn.scaling import Floats32

FEW_LEVELS = 8  # columns with no more values are flags or categories


@dataclass(frozen=True)
class Basis:
    """Which columns are continuous (d,), and the mean and spread of every term (p − 1,)."""

    continuous: Mask
    mean: Floats
    spread: Floats

    def design(self, x: Floats32) -> Floats:
        """(n, p), the constant first."""
        return np.concatenate(
            [np.ones((len(x), 1)), (_terms(x, self.continuous) - self.mean) / self.spread],
            axis=1,
        )


def fit_basis(x: Floats32) -> Basis:
    """Look at training states; a term that never varies stays 0."""
    continuous = np.array(
        [len(np.unique(column[:10_000])) > FEW_LEVELS for column in x.T], dtype=bool
    )
    terms = _terms(x, continuous)
    spread = terms.std(axis=0)
    return Basis(continuous, terms.mean(axis=0), np.where(spread > 1e-9, spread, np.inf))


def _terms(x: Floats32, continuous: Mask) -> Floats:
    curved = x[:, continuous].astype(np.float64)
    even = np.logaddexp(curved, -curved) - np.log(2)
    return np.concatenate([x.astype(np.float64), np.tanh(curved), even], axis=1)
