"""The state as columns of an additive model.

Every column, for continuous ones a saturating and an even curve, and curves that were learned.

tanh x bends where x is large, log cosh x is a soft |x|: together with x they follow any smooth
monotone or U-shaped effect, and grow no faster than the state itself where training never looked.
"""

from dataclasses import dataclass, replace

import numpy as np

from realloc.base.numerics.row_stable import in_tiles, multiply
from realloc.base.simplex import Floats, Mask
from realloc.learn.scaling import Floats32

FURTHEST = 1e4  # standard deviations, for learned curves
FEW_LEVELS = 8  # columns with no more values are flags or categories


@dataclass(frozen=True)
class Basis:
    """Which columns are continuous (d,), and the mean and spread of every term (p − 1,)."""

    continuous: Mask
    mean: Floats
    spread: Floats
    curves: Floats  # weights (d + 1, h) of learned ones, constants last

    def design(self, x: Floats32) -> Floats:
        """(n, p), the constant first."""
        terms = (self.terms(x) - self.mean) / self.spread
        return np.concatenate([np.ones((len(x), 1)), terms], axis=1)

    def terms(self, x: Floats32) -> Floats:
        """All terms as they are (n, p − 1)."""
        curved = x[:, self.continuous].astype(np.float64)
        even = np.logaddexp(curved, -curved) - np.log(2)
        states = np.clip(x.astype(np.float64), -FURTHEST, FURTHEST)
        sums = in_tiles(lambda tiles: multiply(tiles, self.curves[:-1]), states)
        learned = np.tanh(sums + self.curves[-1])
        return np.concatenate([x, np.tanh(curved), even, learned], axis=1)


def fit_basis(x: Floats32, curves: Floats | None = None) -> Basis:
    """Look at training states; a term that never varies stays 0."""
    continuous = np.array(
        [len(np.unique(column[:10_000])) > FEW_LEVELS for column in x.T], dtype=bool
    )
    if curves is None:
        curves = np.zeros((x.shape[1] + 1, 0))
    basis = Basis(continuous, np.zeros(()), np.ones(()), curves)
    terms = basis.terms(x)
    spread = terms.std(axis=0)
    return replace(
        basis, mean=terms.mean(axis=0), spread=np.where(spread > 1e-9, spread, np.inf)
    )
